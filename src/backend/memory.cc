#include "backend/memory.h"

#include "backend/handle.h"

namespace sluice::backend {

Result<DeviceMemory> DeviceMemory::allocate(std::shared_ptr<const Backend> backend, int device,
                                            std::int64_t size_bytes) {
  void* address = nullptr;
  SLUICE_TRY(call_plugin(backend->name(), backend->api().memory_allocate, backend->handle(), device,
                         size_bytes, &address));
  const std::string& name = backend->name();
  // Owned from here on: the checks below free what the plug-in did allocate.
  DeviceMemory memory(std::move(backend), device, address, size_bytes);
  if (address == nullptr && size_bytes > 0) {
    return internal_error("backend \"{}\" returned no memory for {} bytes", name, size_bytes);
  }
  if (!is_aligned(address)) {
    return internal_error("backend \"{}\" returned memory at {}, not aligned to {}", name, address,
                          kAlignment);
  }
  return memory;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : backend_(std::move(other.backend_)),
      device_(other.device_),
      address_(std::exchange(other.address_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  // The destructor of `other` frees what this held.
  std::swap(backend_, other.backend_);
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (address_ == nullptr) return;
  destroy_in_plugin([this] { backend_->api().memory_free(backend_->handle(), device_, address_); });
}

}  // namespace sluice::backend
