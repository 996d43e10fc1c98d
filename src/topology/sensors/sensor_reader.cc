#include "topology/sensors/sensor_reader.h"

#include <algorithm>
#include <utility>

namespace sluice::topology {

SensorReader::SensorReader(DeviceMap map, const SensorPlaces& places)
    : map_(std::move(map)), sysfs_(places.sysfs) {
  const auto is_gpu = [](const terms::Device& device) { return device.kind == "gpu"; };
  if (std::ranges::none_of(map_.devices, is_gpu)) return;
  auto nvml = Nvml::open(places.nvml_library);
  if (!nvml.is_ok()) return;  // `sluice doctor` says why: discovery opens it, too
  const auto handles = nvml->devices();
  if (!handles.is_ok()) return;
  for (const NvmlDevice handle : *handles) {
    const auto address = nvml->bus_address(handle);
    const terms::Device* device = address.is_ok() ? find_device_at(map_, *address) : nullptr;
    if (device != nullptr) gpus_[device->id] = handle;
  }
  nvml_.emplace(std::move(*nvml));
}

std::vector<terms::Sensors> SensorReader::read(std::int64_t now_ns) {
  std::vector<terms::Sensors> all;
  for (const terms::Device& device : map_.devices) {
    const auto gpu = gpus_.find(device.id);
    all.push_back(gpu == gpus_.end() ? sysfs_.read(device, now_ns)
                                     : read_gpu(device.id, gpu->second));
  }
  return all;
}

terms::Sensors SensorReader::read_gpu(terms::DeviceId device, NvmlDevice handle) {
  terms::Sensors sensors = nvml_->sensors(handle);
  if (!sensors.num_throttles) return sensors;
  Slowdowns& seen = slowdowns_[device];
  if (sensors.is_slowed && !seen.is_slow) ++seen.count;
  seen.is_slow = sensors.is_slowed;
  sensors.num_throttles = seen.count;
  return sensors;
}

}  // namespace sluice::topology
