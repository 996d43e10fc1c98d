#include "device/device_services.h"

namespace sluice::device {

Result<std::shared_ptr<DeviceServices>> DeviceServiceTable::of(
    const std::shared_ptr<const backend::Backend>& backend, int device) {
  if (!needs_transfers(backend->devices()[static_cast<std::size_t>(device)])) {
    return std::shared_ptr<DeviceServices>();
  }
  const std::lock_guard lock(mutex_);
  std::shared_ptr<DeviceServices>& services = services_[Key(backend->name(), device)];
  if (services != nullptr) return services;
  auto transfers = SLUICE_TRY(SharedTransfers::create(backend, device, clock_, options_));
  // No slack: memory that models free returns to the device at once, so that the usage it reports
  // is accurate.
  const auto memory = MemoryPool::of_device(backend, device, {.slack_bytes = 0});
  services = std::make_shared<DeviceServices>(memory, transfers);
  return services;
}

std::shared_ptr<DeviceServices> DeviceServiceTable::find(const std::string& backend,
                                                         int device) const {
  const std::lock_guard lock(mutex_);
  const auto it = services_.find(Key(backend, device));
  return it == services_.end() ? nullptr : it->second;
}

}  // namespace sluice::device
