#include "support/sim.h"

#include "support/paths.h"

namespace sluice::testing {

Result<Sim> make_sim(const std::string& description) {
  const backend::Discovery discovery = {.paths = {build_path("lib/sluice")},
                                        .options = {{"sim", {{"description", description}}}}};
  Sim sim;
  sim.registry = backend::BackendRegistry::discover(discovery);
  sim.backend = SLUICE_TRY(sim.registry.find("sim"));
  sim.time = SLUICE_TRY(backend::VirtualTime::of(sim.backend));
  return sim;
}

}  // namespace sluice::testing
