#include "topology/cores/plugin_cores.h"

#include <algorithm>

namespace sluice::topology {
namespace {

struct PluginCore {
  std::int32_t device = 0;
  std::int32_t core = 0;
};

Result<PluginCore> cpu_core(const terms::Device& device, std::int32_t core,
                            std::string_view backend, std::span<const backend::DeviceInfo> devices,
                            std::span<const std::int32_t> usable) {
  const auto host = std::ranges::find(devices, terms::kCpuKind, &backend::DeviceInfo::kind);
  if (host == devices.end()) {
    return make_error(Code::kFailedPrecondition,
                      "backend \"{}\" has no device of kind \"cpu\", so nothing of it runs on {}",
                      backend, describe(device));
  }
  const auto number = static_cast<std::int32_t>(host - devices.begin());
  // A map without processor numbers, such as a hand-written one, counts cores as the plug-in does.
  if (device.cpus.empty()) return PluginCore{number, core};
  const std::int32_t cpu = device.cpus[static_cast<std::size_t>(core)].front();
  const auto found = std::ranges::find(usable, cpu);
  if (found == usable.end()) {
    return make_error(Code::kFailedPrecondition,
                      "processor {} (core {} of {}) is not one that this process may use; discover "
                      "the devices again",
                      cpu, core, describe(device));
  }
  // A cpu plug-in numbers the processors that its process may use from 0; the map has numbers of
  // the machine. Affinity may have changed since the map was made.
  return PluginCore{number, static_cast<std::int32_t>(found - usable.begin())};
}

Result<PluginCore> plugin_core(const terms::Device& device, std::int32_t core,
                               std::string_view backend,
                               std::span<const backend::DeviceInfo> devices,
                               std::span<const std::int32_t> usable) {
  if (device.kind == terms::kCpuKind && device.backend.empty()) {
    return cpu_core(device, core, backend, devices, usable);
  }
  if (device.backend != backend) {
    return make_error(
        Code::kFailedPrecondition, "{} is driven by {}, not by backend \"{}\"", describe(device),
        device.backend.empty() ? "no plug-in" : "\"" + device.backend + "\"", backend);
  }
  return PluginCore{device.backend_index, core};
}

}  // namespace

Result<PluginCores> plugin_cores(const DeviceMap& map, std::span<const terms::CoreRef> cores,
                                 std::string_view backend,
                                 std::span<const backend::DeviceInfo> devices,
                                 std::span<const std::int32_t> usable_cpus) {
  if (cores.empty()) return invalid_argument("no cores to run on");
  PluginCores found;
  for (const terms::CoreRef& core : cores) {
    const terms::Device& device = *find_device(map, core.device);
    const auto place = SLUICE_TRY(plugin_core(device, core.core, backend, devices, usable_cpus));
    const auto count = static_cast<std::int32_t>(devices.size());
    if (place.device < 0 || place.device >= count ||
        place.core >= devices[static_cast<std::size_t>(place.device)].num_cores) {
      return make_error(Code::kFailedPrecondition,
                        "{} core {} is core {} of device {} of backend \"{}\", which has no such; "
                        "discover the devices again",
                        describe(device), core.core, place.core, place.device, backend);
    }
    // A plug-in's group lies on one of its devices.
    if (!found.cores.empty() && place.device != found.device) {
      return invalid_argument("{} is another device of backend \"{}\" than the cores before it",
                              describe(device), backend);
    }
    found.device = place.device;
    found.cores.push_back(place.core);
  }
  return found;
}

std::vector<std::int32_t> cpus_of(const DeviceMap& map, std::span<const terms::CoreRef> cores) {
  std::vector<std::int32_t> cpus;
  for (const terms::CoreRef& core : cores) {
    const terms::Device& device = *find_device(map, core.device);
    if (device.cpus.empty()) continue;
    const auto& threads = device.cpus[static_cast<std::size_t>(core.core)];
    cpus.insert(cpus.end(), threads.begin(), threads.end());
  }
  std::ranges::sort(cpus);
  return cpus;
}

}  // namespace sluice::topology
