// A simulated machine for a test: any devices, real results, virtual time, faults on demand, no
// hardware, no sleeping. docs/sim.md has the description's schema and how the log reads.
//
//   auto sim = testing::make_sim(R"({"devices": [{"count": 2, "cores": 4,
//                                                 "compute": {"kernel_ns": 1000}}],
//                                    "links": [{"a": 0, "b": 1}]})");
//   ASSERT_TRUE(sim.is_ok()) << sim.status().to_string();
//   ... load a model on sim->registry, backend name "sim", or use sim->backend directly;
//   EXPECT_EQ(sim->time->now_ns(), 1000);
//   ... sim->time->inject_fault(R"({"kind": "lost_device", "device": 1})")
//
// In CMake: `sluice_library(x ... TEST_DEPS sim_support)`, which also builds the plug-in.
#pragma once

#include <memory>
#include <string>

#include "backend/extensions/virtual_time.h"
#include "backend/registry.h"

namespace sluice::testing {

struct Sim {
  /// The plug-ins of this build; its "sim" is `backend`.
  backend::BackendRegistry registry;
  std::shared_ptr<const backend::Backend> backend;
  std::shared_ptr<backend::VirtualTime> time;  ///< the clock of `backend`
};

/// `description`: JSON, or `@` and the path of a file. "{}" is one device of four cores. Every call
/// creates a new machine at time 0. Fails: the plug-in's error for a bad description.
Result<Sim> make_sim(const std::string& description = "{}");

}  // namespace sluice::testing
