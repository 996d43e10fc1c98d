#include "topology/discovery/sources.h"

namespace sluice::topology {
namespace {

constexpr const char* kSimulatorKind = "sim";

void add_reason(Findings& found, const std::string& reason) {
  std::string& text = found.report.reason;
  text += (text.empty() ? "" : "; ") + reason;
}

/// The device as the plug-in describes it. A processor device names no plug-in, because every
/// plug-in of kind "cpu" drives it.
terms::Device device_of(const backend::Backend& backend, std::size_t index) {
  const backend::DeviceInfo& info = backend.devices()[index];
  terms::Device device;
  device.kind = info.kind;
  device.name = info.name;
  device.bus_address = info.bus_address;
  device.num_cores = info.num_cores;
  device.memory_bytes = info.memory_bytes;
  if (info.is_simulated) device.features.emplace_back("simulated");
  if (device.kind == terms::kCpuKind) return device;
  device.backend = backend.name();
  device.backend_index = static_cast<std::int32_t>(index);
  return device;
}

/// The requested devices of a plug-in, and the links between them.
void add_devices(const backend::Backend& backend, bool& has_cpus, bool simulated, Findings& found) {
  std::vector<terms::DeviceId> ids(backend.devices().size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const backend::DeviceInfo& info = backend.devices()[i];
    const bool is_host = info.kind == terms::kCpuKind;
    // A simulated machine has the simulator's devices; an emulated GPU is used by the name of its
    // plug-in.
    if (simulated && info.kind != kSimulatorKind) continue;
    if (info.is_simulated != simulated || (is_host && has_cpus)) continue;
    has_cpus = has_cpus || is_host;
    ids[i] = terms::DeviceId(found.devices.size());
    found.devices.push_back(device_of(backend, i));
    found.devices.back().id = ids[i];
  }
  for (const backend::Link& link : backend.links()) {
    const terms::DeviceId a = ids[static_cast<std::size_t>(link.device_a)];
    const terms::DeviceId b = ids[static_cast<std::size_t>(link.device_b)];
    if (!a.is_valid() || !b.is_valid()) continue;
    found.links.push_back({a, b, backend.name(), link.bytes_per_s, link.latency_ns});
  }
}

}  // namespace

Findings find_plugin_devices(std::span<const backend::Plugin> plugins, bool has_cpus,
                             bool simulated) {
  Findings found = {.report = {.source = simulated ? "simulation" : "plug-ins"}};
  for (const backend::Plugin& plugin : plugins) {
    if (plugin.backend != nullptr) {
      add_devices(*plugin.backend, has_cpus, simulated, found);
    } else if (!simulated) {
      add_reason(found, plugin.reason.to_string());
    }
  }
  found.report.num_devices = static_cast<std::int32_t>(found.devices.size());
  return found;
}

}  // namespace sluice::topology
