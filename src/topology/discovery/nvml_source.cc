#include <algorithm>
#include <set>

#include "topology/discovery/nvml_api.h"
#include "topology/discovery/sources.h"

namespace sluice::topology {
namespace {

Result<terms::Device> describe_gpu(const Nvml& nvml, NvmlDevice handle) {
  terms::Device device;
  device.kind = "gpu";
  device.name = SLUICE_TRY(nvml.name(handle));
  device.bus_address = SLUICE_TRY(nvml.bus_address(handle));
  // Integrated GPUs share the host's memory and report none.
  const auto bytes = nvml.memory_bytes(handle);
  device.memory_bytes = bytes.is_ok() ? std::max<std::int64_t>(*bytes, 0) : 0;
  if (auto architecture = nvml.architecture(handle)) {
    device.features.push_back(*std::move(architecture));
  }
  return device;
}

/// The GPU at the far end of a link; `devices.size()` for a switch.
std::size_t device_at(const std::vector<terms::Device>& devices, const std::string& address) {
  return static_cast<std::size_t>(std::ranges::find(devices, address, &terms::Device::bus_address) -
                                  devices.begin());
}

/// Links between two GPUs, and between every two GPUs that have a link to a switch.
void add_links(const std::vector<std::vector<std::string>>& ends, Findings& found) {
  std::vector<std::size_t> switched;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    bool has_switch = false;
    for (const std::string& end : std::set<std::string>(ends[i].begin(), ends[i].end())) {
      const std::size_t other = device_at(found.devices, end);
      has_switch = has_switch || other == found.devices.size();
      if (other >= found.devices.size() || other <= i)
        continue;  // the other GPU lists the link, too
      found.links.push_back({terms::DeviceId(i), terms::DeviceId(other), "nvlink"});
    }
    if (!has_switch) continue;
    for (const std::size_t other : switched) {
      found.links.push_back({terms::DeviceId(other), terms::DeviceId(i), "nvswitch"});
    }
    switched.push_back(i);
  }
}

Status look(const Nvml& nvml, Findings& found) {
  std::vector<std::vector<std::string>> ends;
  for (const NvmlDevice handle : SLUICE_TRY(nvml.devices())) {
    terms::Device device = SLUICE_TRY(describe_gpu(nvml, handle));
    device.id = terms::DeviceId(found.devices.size());
    found.devices.push_back(std::move(device));
    ends.push_back(nvml.link_ends(handle));
  }
  add_links(ends, found);
  return ok_status();
}

}  // namespace

Findings find_nvml(const std::filesystem::path& library) {
  Findings found = {.report = {.source = "nvml"}};
  const auto nvml = Nvml::open(library);
  const Status status = nvml.is_ok() ? look(*nvml, found) : nvml.status();
  if (!status.is_ok()) found.report.reason = status.message();
  found.report.num_devices = static_cast<std::int32_t>(found.devices.size());
  return found;
}

}  // namespace sluice::topology
