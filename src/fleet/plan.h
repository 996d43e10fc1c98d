// How many machines a load needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/simulation.h"

namespace sluice::fleet {

struct Goal {
  std::int64_t p99_ns = 0;  ///< at most; 0: any
  double shed = 0.01;       ///< share of requests at most
};

/// What a number of machines does with the load.
struct PlanRow {
  int num_machines = 0;
  Figures figures;
  double utilisation = 0;
  std::int64_t num_answered = 0;
  std::int64_t num_failed = 0;
  std::int64_t num_lost = 0;
  std::int64_t num_loads = 0;
  std::int64_t num_failures = 0;
  bool meets_goal = false;
};

/// Calibrated models under the names of a trace.
class ModelsOfTrace {
 public:
  /// `stand_in`: the model whose times those without a calibration take, with their number; empty:
  /// there may be none. Fails: kNotFound, naming one.
  static Result<ModelsOfTrace> create(const std::vector<CalibratedModel>& models,
                                      const Trace& trace, const std::string& stand_in);

  const std::vector<const SimulatedModel*>& by_number() const { return by_number_; }
  std::size_t num_stand_ins() const { return num_stand_ins_; }
  /// The largest of the models that the trace uses.
  double error() const;

 private:
  /// Shared with copies: others point into it.
  std::shared_ptr<const std::map<std::string, SimulatedModel>> models_;
  std::vector<const SimulatedModel*> by_number_;
  std::size_t num_stand_ins_ = 0;
};

/// A row for each number of machines. Fails: as simulate.
Result<std::vector<PlanRow>> plan_for(const ModelsOfTrace& models, const Trace& trace,
                                      const Fleet& fleet, const Goal& goal,
                                      std::span<const int> num_machines);
/// Looks for the fewest machines that meet the goal, to one of a hundred, by doubling and then
/// halving the distance; the rows are what it looked at, in ascending order. None meets the goal if
/// 64 times the machines that the load would keep busy do not. Fails: as simulate.
Result<std::vector<PlanRow>> plan_fewest(const ModelsOfTrace& models, const Trace& trace,
                                         const Fleet& fleet, const Goal& goal);

/// The first row from which on all meet the goal; none: the last one does not.
const PlanRow* fewest(std::span<const PlanRow> rows);

}  // namespace sluice::fleet
