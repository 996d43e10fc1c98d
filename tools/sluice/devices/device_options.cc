#include "sluice/devices/device_options.h"

#include "backend/registry.h"
#include "base/file.h"
#include "sluice/model/model_source.h"
#include "topology/discovery/discovery.h"

namespace sluice::tool {
namespace {

/// The plug-ins, with the simulation of the machine that a file describes.
Result<backend::BackendRegistry> simulated_registry(const std::string& path) {
  SLUICE_TRY(map_file(path));  // so that a missing file is called missing
  backend::Discovery discovery;
  discovery.options["sim"] = {{"description", "@" + path}};
  auto registry = backend::BackendRegistry::discover(discovery);
  SLUICE_TRY(registry.find("sim").with_context(path));
  return registry;
}

}  // namespace

std::array<Option, 2> DeviceOptions::add_to(Options& options) {
  return {
      options.add("--synthetic", synthetic,
                  "Describe another machine in hwloc's form: \"numa:2 core:4 pu:2\""),
      options.add("--sim", sim, "Show the simulated devices that this file describes"),
  };
}

Result<topology::DeviceMap> discover(const DeviceOptions& options) {
  const topology::DiscoveryOptions wanted = {.synthetic = options.synthetic,
                                             .only_simulated = !options.sim.empty()};
  if (options.sim.empty()) return topology::discover_devices(backend_registry(), wanted);
  const auto registry = SLUICE_TRY(simulated_registry(options.sim));
  return topology::discover_devices(registry, wanted);
}

}  // namespace sluice::tool
