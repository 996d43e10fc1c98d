// A plan as a table and JSON, and a calibration as a table.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "fleet/plan.h"

namespace sluice::tool {

/// What is beside every figure of a plan.
struct PlanOrigin {
  std::string trace;
  std::string fleet;  ///< of a machine, the route, the network and failures
  std::uint64_t seed = 0;
  double error = 0;  ///< of the calibration
  std::size_t num_stand_ins = 0;
  fleet::Goal goal;

  /// One line: "simulated; calibration error 7 %; trace ...; seed 1".
  std::string to_string() const;
};

std::string plan_table(std::span<const fleet::PlanRow> rows, const PlanOrigin& origin);
/// One object, with its end of line; later versions only add keys.
std::string plan_json(std::span<const fleet::PlanRow> rows, const PlanOrigin& origin);
/// Measured beside simulated figures of each run of a model, with its errors.
std::string calibration_table(const fleet::CalibratedModel& model);

/// Two plots over the number of machines, with the goal: latencies and the shed share; and the
/// origin below. An SVG document.
std::string draw_plan(std::span<const fleet::PlanRow> rows, const PlanOrigin& origin);

}  // namespace sluice::tool
