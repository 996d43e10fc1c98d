#include "runtime/topology/sources.h"

namespace sluice::runtime {
namespace {

/// The kind that the plug-in which simulates hardware gives its devices.
constexpr std::string_view kSimulatedKind = "sim";

void add_reason(Findings& found, const std::string& reason) {
  std::string& text = found.report.reason;
  text += (text.empty() ? "" : "; ") + reason;
}

/// As the plug-in tells it; a processor is nobody's own, as every plug-in of that kind drives it.
Device device_of(const backend::Backend& backend, std::size_t index) {
  const backend::DeviceInfo& info = backend.devices()[index];
  Device device;
  device.kind = info.kind;
  device.name = info.name;
  device.num_cores = info.num_cores;
  device.memory_bytes = info.memory_bytes;
  if (device.kind == kCpuKind) return device;
  device.backend = backend.name();
  device.backend_index = static_cast<std::int32_t>(index);
  return device;
}

/// What of a plug-in's devices is asked for; processors once.
void add_devices(const backend::Backend& backend, bool& has_cpus, bool simulated, Findings& found) {
  for (std::size_t i = 0; i < backend.devices().size(); ++i) {
    const std::string& kind = backend.devices()[i].kind;
    const bool is_host = kind == kCpuKind;
    if ((kind == kSimulatedKind) != simulated || (is_host && has_cpus)) continue;
    has_cpus = has_cpus || is_host;
    found.devices.push_back(device_of(backend, i));
    found.devices.back().id = DeviceId(found.devices.size() - 1);
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

}  // namespace sluice::runtime
