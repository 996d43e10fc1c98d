// Device code as the emulator sees it: kernels with parameters that can run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "emulator/machine/memory.h"
#include "emulator/ptx/code/kernel.h"
#include "emulator/ptx/code/launch.h"

namespace sluice::cuda::emulator {

/// The memory that one launch may reach: memory of its device, and of peers with access. Keeps the
/// fault of the last address that it refused.
class LaunchMemory : public ptx::GlobalMemory {
 public:
  virtual const Fault& last_fault() const = 0;
};

/// Immutable; runs on several threads at once.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  virtual std::span<const ptx::Parameter> parameters() const = 0;
  virtual std::size_t static_shared_bytes() const = 0;
  /// Threads that a block may have at most.
  virtual unsigned max_threads() const { return ptx::kMaxBlockThreads; }
  /// Adds to `counts`.
  virtual Fault run(const ptx::Launch& launch, LaunchMemory& memory, ptx::Counts& counts) const = 0;
};

/// Memory of a variable of the image, which every device reaches.
struct DeviceVariable {
  CuDevicePointer address = 0;
  std::size_t bytes = 0;
};

/// A loaded image.
class DeviceCode {
 public:
  virtual ~DeviceCode() = default;
  /// Null if the image has no kernel of this name. Lives as long as the code.
  virtual const DeviceKernel* find(std::string_view name) const = 0;
  virtual std::optional<DeviceVariable> find_variable(std::string_view /*name*/) const {
    return std::nullopt;
  }
};

/// Reads an image: NUL-terminated text. Variables of the image go to `memory`, which outlives the
/// code. Fails as cuLibraryLoadData does.
using LoadCode = std::function<Fault(const char* image, AddressSpace& memory,
                                     std::shared_ptr<const DeviceCode>* code)>;

}  // namespace sluice::cuda::emulator
