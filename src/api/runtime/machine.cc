#include "api/runtime/machine.h"

#include "base/file.h"
#include "runtime/inference/simulated_drivers.h"
#include "runtime/inference/thread_driver.h"
#include "topology/discovery/discovery.h"
#include "topology/map/logical_ids.h"

namespace sluice::api {

Result<Machine> find_machine(const LocalOptions& options) {
  const std::string file = options.simulated_machine.string();
  const bool is_simulated = !file.empty();
  backend::Discovery discovery;
  discovery.paths = options.plugins;
  if (is_simulated) {
    SLUICE_TRY(map_file(file));  // so that a missing file is called missing
    discovery.options["sim"] = {{"description", "@" + file}};
  }
  Machine machine;
  machine.plugins = backend::BackendRegistry::discover(discovery);
  topology::DiscoveryOptions discover;
  discover.only_simulated = is_simulated;
  machine.devices = SLUICE_TRY(topology::discover_devices(machine.plugins, discover));
  if (!options.devices.empty()) {
    machine.devices = SLUICE_TRY(topology::select_devices(machine.devices, options.devices));
  }
  if (is_simulated) {
    const auto sim = SLUICE_TRY(machine.plugins.find("sim").with_context(file));
    machine.drivers =
        std::make_unique<runtime::SimulatedDrivers>(SLUICE_TRY(backend::VirtualTime::of(sim)));
  } else {
    machine.drivers = std::make_unique<runtime::ThreadDrivers>();
  }
  return machine;
}

}  // namespace sluice::api
