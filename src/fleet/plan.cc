#include "fleet/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::fleet {
namespace {

Result<PlanRow> row_of(const ModelsOfTrace& models, const Trace& trace, Fleet fleet,
                       const Goal& goal, int num_machines) {
  fleet.num_machines = num_machines;
  const Outcome outcome = SLUICE_TRY(simulate(models.by_number(), trace, fleet));
  PlanRow row;
  row.num_machines = num_machines;
  row.figures = outcome.figures();
  row.utilisation = outcome.utilisation;
  row.num_answered = std::ssize(outcome.window.latencies_ns);
  row.num_failed = outcome.window.num_failed;
  row.num_lost = outcome.num_lost;
  row.num_loads = outcome.num_loads;
  row.num_failures = outcome.num_failures;
  row.meets_goal = row.num_answered > 0 && row.figures.shed <= goal.shed &&
                   (goal.p99_ns == 0 || row.figures.p99_ns <= goal.p99_ns);
  return row;
}

/// Machines whose groups would be busy all the time.
double full_machines(const ModelsOfTrace& models, const Trace& trace, const Fleet& fleet) {
  double busy_ns = 0;
  for (const Arrival& arrival : trace.arrivals) {
    const SimulatedModel& model = *models.by_number()[arrival.model];
    const CalibratedModel& facts = model.facts;
    const std::int64_t joined = std::max(facts.batch_rows / arrival.rows, 1);
    busy_ns += (facts.run_ns(joined * arrival.rows) + facts.gap_after_ns(joined)) /
               static_cast<double>(joined);
  }
  return busy_ns / (std::max(trace.seconds(), 1e-3) * 1e9) / fleet.num_groups;
}

}  // namespace

Result<ModelsOfTrace> ModelsOfTrace::create(const std::vector<CalibratedModel>& models,
                                            const Trace& trace, const std::string& stand_in) {
  auto by_name = std::make_shared<std::map<std::string, SimulatedModel>>();
  for (const CalibratedModel& model : models) {
    auto times = ServiceTimes::create(model.compute, model.compute_ns).with_context(model.name);
    by_name->emplace(model.name, SimulatedModel{model, SLUICE_TRY(std::move(times))});
  }
  if (!stand_in.empty() && !by_name->contains(stand_in)) {
    return make_error(Code::kNotFound, "no calibration of \"{}\"", stand_in);
  }
  ModelsOfTrace all;
  all.models_ = by_name;
  for (const std::string& name : trace.models) {
    auto found = by_name->find(name);
    if (found == by_name->end() && stand_in.empty()) {
      return make_error(Code::kNotFound,
                        "the trace has model \"{}\", which is not calibrated; --stand-in names one "
                        "whose times it takes",
                        name);
    }
    if (found == by_name->end()) {
      found = by_name->find(stand_in);
      ++all.num_stand_ins_;
    }
    all.by_number_.push_back(&found->second);
  }
  return all;
}

double ModelsOfTrace::error() const {
  double most = 0;
  for (const SimulatedModel* model : by_number_) most = std::max(most, model->facts.error());
  return most;
}

Result<std::vector<PlanRow>> plan_for(const ModelsOfTrace& models, const Trace& trace,
                                      const Fleet& fleet, const Goal& goal,
                                      std::span<const int> num_machines) {
  std::vector<PlanRow> rows;
  for (const int count : num_machines) {
    rows.push_back(SLUICE_TRY(row_of(models, trace, fleet, goal, count)));
  }
  return rows;
}

Result<std::vector<PlanRow>> plan_fewest(const ModelsOfTrace& models, const Trace& trace,
                                         const Fleet& fleet, const Goal& goal) {
  const double full = full_machines(models, trace, fleet);
  std::map<int, PlanRow> rows;
  const auto look = [&](int count) -> Result<bool> {
    return rows.emplace(count, SLUICE_TRY(row_of(models, trace, fleet, goal, count)))
        .first->second.meets_goal;
  };
  const auto bounded = [](double count) {
    return static_cast<int>(std::clamp(std::ceil(count), 1.0, double{kMaxMachines}));
  };
  int low = 0;  // too few
  int high = bounded(full);
  // Far more than the load needs at its peak: then it is not the number of machines.
  const int most = bounded(64 * full);
  while (!SLUICE_TRY(look(high)) && high < most) {
    low = std::exchange(high, std::min(bounded(2.0 * high), most));
  }
  while (rows.at(high).meets_goal && high - low > std::max(1, high / 100)) {
    const int middle = low + (high - low) / 2;
    (SLUICE_TRY(look(middle)) ? high : low) = middle;
  }
  std::vector<PlanRow> found;
  for (auto& [count, row] : rows) found.push_back(row);
  return found;
}

const PlanRow* fewest(std::span<const PlanRow> rows) {
  const PlanRow* found = nullptr;
  for (const PlanRow& row : rows) {
    if (!row.meets_goal) found = nullptr;
    if (row.meets_goal && found == nullptr) found = &row;
  }
  return found;
}

}  // namespace sluice::fleet
