// Device code as the emulator sees it: kernels with parameters that can run.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "emulator/machine/memory.h"

namespace sluice::cuda::emulator {

struct Parameter {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// The memory that one launch may reach: memory of its device, and of peers with access.
class LaunchMemory {
 public:
  virtual ~LaunchMemory() = default;
  /// The bytes at an address, or a fault. Valid while the launch runs.
  virtual Fault at(CuDevicePointer address, std::size_t bytes, std::byte** data) = 0;
};

struct LaunchSetup {
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  unsigned dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;
  std::vector<int> multiprocessors;  // block i runs on [i % size]; never empty
  std::uint64_t seed = 0;            // of the order of blocks and warps
};

/// Immutable; runs on several threads at once.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  virtual const std::vector<Parameter>& parameters() const = 0;
  virtual std::size_t static_shared_bytes() const = 0;
  virtual Fault run(const LaunchSetup& setup, LaunchMemory& memory) const = 0;
};

/// A loaded image.
class DeviceCode {
 public:
  virtual ~DeviceCode() = default;
  /// Null if the image has no kernel of this name. Lives as long as the code.
  virtual const DeviceKernel* find(std::string_view name) const = 0;
};

/// Reads an image: NUL-terminated PTX text. Fails as cuLibraryLoadData does.
using LoadCode = std::function<Fault(const char* image, std::shared_ptr<const DeviceCode>* code)>;

}  // namespace sluice::cuda::emulator
