#include "sluice/device_options.h"

#include "backend/registry.h"
#include "base/file.h"
#include "runtime/topology/discovery.h"
#include "sluice/model_source.h"

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

void DeviceOptions::add_to(CLI::App& app) {
  app.add_option(
      "--synthetic", synthetic,
      "Not this machine, but one described in hwloc's form, e.g. \"numa:2 core:4 pu:2\"");
  app.add_option("--sim", sim, "Not this machine, but the simulated devices that a file describes");
}

Result<runtime::DeviceMap> discover(const DeviceOptions& options) {
  const runtime::DiscoveryOptions wanted = {.synthetic = options.synthetic,
                                            .only_simulated = !options.sim.empty()};
  if (options.sim.empty()) return runtime::discover_devices(backend_registry(), wanted);
  const auto registry = SLUICE_TRY(simulated_registry(options.sim));
  return runtime::discover_devices(registry, wanted);
}

}  // namespace sluice::tool
