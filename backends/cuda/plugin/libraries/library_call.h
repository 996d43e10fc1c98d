// A library's function in the place of a generated kernel.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/driver_table.h"
#include "plugin/libraries/cudnn_types.h"

namespace sluice::cuda {

/// What calls of libraries need of a stream.
struct LibraryNeeds {
  std::size_t workspace_bytes = 0;  ///< scratch memory, which one call after the other uses
  bool cudnn = false;               ///< a handle of cuDNN

  void add(const LibraryNeeds& other) {
    workspace_bytes = std::max(workspace_bytes, other.workspace_bytes);
    cudnn = cudnn || other.cudnn;
  }
};

/// What a stream has for calls of libraries. It is made before the calls that need it. What is
/// there stays until the stream ends, because graphs of the stream have its addresses.
struct LibraryStream {
  CuDevicePointer workspace = 0;
  std::size_t workspace_bytes = 0;
  DnnHandle cudnn = nullptr;
  std::vector<CuDevicePointer> outgrown = {};  ///< workspaces that were too small for later calls
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

  /// What `run` needs of its stream.
  virtual LibraryNeeds needs() const = 0;

  /// Puts the work behind that of the stream. A stream may be captured: the call neither waits nor
  /// allocates memory of the device.
  /// Requires: the device's context is current; the stream has what the call needs.
  /// Fails: INTERNAL, RESOURCE_EXHAUSTED  as the library says
  virtual Status run(const LibraryRun& run) const = 0;

  /// "cuBLASLt 13.1.0 (/usr/local/cuda/lib64/libcublasLt.so.13)".
  virtual std::string library() const = 0;
};

}  // namespace sluice::cuda
