// Memory that kernels read and write.
#pragma once

#include <cstdint>

#include "backend/backend.h"

namespace sluice::backend {

/// Whether kernels may use this address as a tensor's; those of inputs may need less.
inline bool is_aligned(const void* data, std::int64_t alignment = kAlignment) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) == 0;
}

/// Memory of a device, aligned to kAlignment. Move-only; keeps its backend alive.
class DeviceMemory {
 public:
  /// Requires: `device` is one of the backend's. Zero bytes are allowed.
  /// Fails: kResourceExhausted, or as the plug-in says.
  static Result<DeviceMemory> allocate(std::shared_ptr<const Backend> backend, int device,
                                       std::int64_t size_bytes);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  /// Readable by the host only where the device has host memory.
  void* address() const { return address_; }
  std::int64_t size_bytes() const { return size_bytes_; }

 private:
  DeviceMemory(std::shared_ptr<const Backend> backend, int device, void* address,
               std::int64_t size_bytes)
      : backend_(std::move(backend)), device_(device), address_(address), size_bytes_(size_bytes) {}

  std::shared_ptr<const Backend> backend_;
  int device_ = 0;
  void* address_ = nullptr;
  std::int64_t size_bytes_ = 0;
};

}  // namespace sluice::backend
