// A library's function in the place of a generated kernel.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "driver/driver_table.h"

namespace sluice::cuda {

/// Scratch memory of a stream that calls of libraries share, one after the other.
inline constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

/// What calls of libraries need of one stream. It is made before the first call, and stays as it
/// is: graphs of the stream have its addresses.
struct LibraryStream {
  CuDevicePointer workspace = 0;  ///< kWorkspaceBytes
};

/// What one run of a call works on.
struct LibraryRun {
  CuStream stream = nullptr;
  const LibraryStream* scratch = nullptr;
  int multiprocessors = 0;  ///< of the stream; 0: all of the device
  /// Addresses of the operation's inputs, then of its body's.
  std::span<void* const> inputs;
  void* output = nullptr;
};

/// Computes output 0 of an operation, all or all but its tail. Immutable: several threads call
/// `run` at once, with a stream each.
class LibraryCall {
 public:
  LibraryCall() = default;
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
  virtual ~LibraryCall() = default;

  /// Puts the work behind that of the stream. A stream may be captured: the call neither waits nor
  /// allocates memory of the device.
  /// Requires: the device's context is current.
  /// Fails: INTERNAL, RESOURCE_EXHAUSTED  as the library says
  virtual Status run(const LibraryRun& run) const = 0;

  /// "cuBLASLt 13.1.0 (/usr/local/cuda/lib64/libcublasLt.so.13)".
  virtual std::string library() const = 0;
};

}  // namespace sluice::cuda
