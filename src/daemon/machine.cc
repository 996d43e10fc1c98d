#include "daemon/machine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/system/processor.h"
#include "base/text/number.h"
#include "runtime/inference/simulated_drivers.h"
#include "runtime/inference/thread_driver.h"
#include "topology/discovery/discovery.h"
#include "topology/map/device_map_json.h"
#include "topology/map/logical_ids.h"

namespace sluice::daemon {
namespace {

Result<backend::BackendRegistry> find_backends(const Settings& settings) {
  if (settings.sim.empty()) return backend::BackendRegistry::discover();
  SLUICE_TRY(map_file(settings.sim));  // so that a missing file is called missing
  backend::Discovery discovery;
  discovery.options["sim"] = {{"description", "@" + settings.sim}};
  auto backends = backend::BackendRegistry::discover(discovery);
  SLUICE_TRY(backends.find("sim").with_context(settings.sim));
  return backends;
}

/// "0000:1c:00.0", "1c:00.0", or a logical id: "2".
Result<terms::DeviceId> find_named(const topology::DeviceMap& map, const std::string& name) {
  if (const terms::Device* device = find_device_at(map, name)) return device->id;
  const auto number = to_number<std::int32_t>(name);
  if (number && *number >= 0 && find_device(map, terms::DeviceId(*number)) != nullptr) {
    return terms::DeviceId(*number);
  }
  std::string there;
  for (const terms::Device& device : map.devices) {
    there += (there.empty() ? "" : ", ") + topology::describe(device);
  }
  return make_error(Code::kNotFound, "-t {}: no such device; there are: {}", name,
                    there.empty() ? "none" : there);
}

/// Fails: kFailedPrecondition for a processor of the map that this process may not use.
Status check_processors(const topology::DeviceMap& map) {
  const std::vector<std::int32_t> usable = process_cpus();
  for (const terms::Device& device : map.devices) {
    for (const auto& threads : device.cpus) {
      for (const std::int32_t cpu : threads) {
        if (std::ranges::find(usable, cpu) != usable.end()) continue;
        return make_error(Code::kFailedPrecondition,
                          "{} has processor {}, which this process may not use",
                          topology::describe(device), cpu);
      }
    }
  }
  return ok_status();
}

/// The map of this boot, if there is one that fits. The log says why one does not.
std::optional<topology::DeviceMap> find_boot_map(service::Log& log) {
  auto map = topology::read_device_map(kBootMap);
  if (map.status().code() == Code::kNotFound) return std::nullopt;
  const Status fit = map.is_ok() ? check_processors(*map) : map.status();
  if (fit.is_ok()) return std::move(*map);
  log.add(service::LogLevel::kWarning, "map.unfit path={} reason={}", kBootMap,
          service::in_quotes(fit.message()));
  return std::nullopt;
}

/// All devices if none is named.
Result<topology::DeviceMap> pick(topology::DeviceMap map, const std::vector<std::string>& names) {
  if (names.empty()) return map;
  std::vector<terms::DeviceId> ids;
  for (const std::string& name : names) ids.push_back(SLUICE_TRY(find_named(map, name)));
  return topology::select_devices(map, ids);
}

Result<topology::DeviceMap> find_devices(const Settings& settings,
                                         const backend::BackendRegistry& backends,
                                         service::Log& log) {
  if (!settings.map.empty() && settings.map != kBootMap) {
    // A map that is named must be there.
    return pick(SLUICE_TRY(topology::read_device_map(settings.map)), settings.devices);
  }
  if (settings.devices.empty() && !settings.map.empty() && settings.sim.empty()) {
    if (auto map = find_boot_map(log)) return std::move(*map);
  }
  topology::DiscoveryOptions options;
  options.only_simulated = !settings.sim.empty();
  return pick(SLUICE_TRY(topology::discover_devices(backends, options)), settings.devices);
}

/// "1,3"
std::string linked_ids(const topology::DeviceMap& map, terms::DeviceId id) {
  std::vector<std::int32_t> ids;
  for (const terms::DeviceId linked : topology::linked_with(map, id)) ids.push_back(linked.value());
  return fmt::format("{}", fmt::join(ids, ","));
}

}  // namespace

Result<Machine> find_machine(const Settings& settings, service::Log& log) {
  Machine machine;
  machine.backends = SLUICE_TRY(find_backends(settings));
  machine.devices = SLUICE_TRY(find_devices(settings, machine.backends, log));
  if (settings.sim.empty()) {
    machine.drivers = std::make_unique<runtime::ThreadDrivers>();
    return machine;
  }
  auto time = SLUICE_TRY(backend::VirtualTime::of(SLUICE_TRY(machine.backends.find("sim"))));
  machine.drivers = std::make_unique<runtime::SimulatedDrivers>(std::move(time));
  return machine;
}

void log_devices(const topology::DeviceMap& map, service::Log& log) {
  for (const terms::Device& device : map.devices) {
    log.add(service::LogLevel::kInfo,
            "device.ready device={} kind={} name={} address={} cores={} links={}",
            device.id.value(), device.kind, service::in_quotes(device.name),
            service::in_quotes(device.bus_address), device.num_cores,
            service::in_quotes(linked_ids(map, device.id)));
  }
}

}  // namespace sluice::daemon
