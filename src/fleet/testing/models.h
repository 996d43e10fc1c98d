// Calibrated models that tests make.
#pragma once

#include <cstdint>
#include <string>

#include "fleet/station.h"

namespace sluice::fleet::testing {

inline constexpr std::int64_t kMs = 1'000'000;

/// A run takes `run_ns`, give or take a sixteenth of a millisecond: that of a histogram's bucket;
/// the rest is the gap, which does not vary. Requires: at least 2 ms.
inline CalibratedModel calibrated(const std::string& name, std::int64_t run_ns) {
  CalibratedModel model;
  model.name = name;
  model.compute = {{1 << 20, 1000}};  // from 1.05 to 1.18 ms
  model.compute_ns = 1'100'000;
  model.gap_ns = run_ns - model.compute_ns;
  model.depth = 2;
  model.queue_limit = 128;
  model.runs = {{100, 0, 1000, 1, {run_ns, run_ns, 0}, {run_ns, run_ns, 0}}};
  return model;
}

inline SimulatedModel simulated(const CalibratedModel& facts) {
  return {facts, *ServiceTimes::create(facts.compute, facts.compute_ns)};
}

}  // namespace sluice::fleet::testing
