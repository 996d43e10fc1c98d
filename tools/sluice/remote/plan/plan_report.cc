#include "sluice/remote/plan/plan_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

using fleet::PlanRow;
using nlohmann::ordered_json;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

ordered_json to_json(const PlanRow& row) {
  return {{"machines", row.num_machines},   {"p50_ns", row.figures.p50_ns},
          {"p99_ns", row.figures.p99_ns},   {"shed", row.figures.shed},
          {"utilisation", row.utilisation}, {"answered", row.num_answered},
          {"failed", row.num_failed},       {"lost", row.num_lost},
          {"loads", row.num_loads},         {"failures", row.num_failures},
          {"meets_goal", row.meets_goal}};
}

std::string describe(const fleet::Goal& goal) {
  const std::string p99 =
      goal.p99_ns > 0 ? fmt::format("p99 up to {}, ", describe_duration(goal.p99_ns)) : "";
  return fmt::format("{}shed up to {}", p99, percent(goal.shed));
}

std::string describe_runs(const fleet::CalibratedModel& model) {
  std::string text = fmt::format("a run takes {}", describe_duration(model.compute_ns));
  if (model.batch_rows == 1) return text;
  text += fmt::format(" with {}", describe_count(model.batch_rows, "row"));
  for (const fleet::RowTime& time : model.row_times) {
    text += fmt::format(", {} with {}", describe_duration(time.compute_ns), time.rows);
  }
  return text + fmt::format(", {} for each request", describe_duration(model.request_ns));
}

}  // namespace

std::string PlanOrigin::to_string() const {
  const std::string stand_ins =
      num_stand_ins > 0
          ? fmt::format("; {} take another model's times",
                        describe_count(static_cast<std::int64_t>(num_stand_ins), "model"))
          : "";
  const std::string bad = error > fleet::kMostError ? ", UNCALIBRATED" : "";
  return fmt::format("simulated; calibration error {}{}; trace: {}; {}; seed {}{}", percent(error),
                     bad, printable(trace), fleet, seed, stand_ins);
}

std::string plan_table(std::span<const PlanRow> rows, const PlanOrigin& origin) {
  std::vector<std::vector<std::string>> lines = {
      {"MACHINES", "P50", "P99", "SHED", "BUSY", "LOST", "LOADS", "FAILURES", "GOAL"}};
  for (const PlanRow& row : rows) {
    lines.push_back({describe_count(row.num_machines), describe_duration(row.figures.p50_ns),
                     describe_duration(row.figures.p99_ns), percent(row.figures.shed),
                     percent(row.utilisation), describe_count(row.num_lost),
                     describe_count(row.num_loads), describe_count(row.num_failures),
                     row.meets_goal ? "met" : "missed"});
  }
  const PlanRow* fewest = fleet::fewest(rows);
  const std::string answer =
      fewest == nullptr
          ? "none of these meets the goal"
          : fmt::format("{} meet the goal", describe_count(fewest->num_machines, "machine"));
  return fmt::format("{}{}: {}\n{}\n", text_table(lines), answer, describe(origin.goal),
                     origin.to_string());
}

std::string plan_json(std::span<const PlanRow> rows, const PlanOrigin& origin) {
  ordered_json all = ordered_json::array();
  for (const PlanRow& row : rows) all.push_back(to_json(row));
  const PlanRow* fewest = fleet::fewest(rows);
  const ordered_json plan = {
      {"is_simulated", true},
      {"calibration_error", origin.error},
      {"is_calibrated", origin.error <= fleet::kMostError},
      {"trace", origin.trace},
      {"fleet", origin.fleet},
      {"seed", origin.seed},
      {"stand_ins", origin.num_stand_ins},
      {"goal", {{"p99_ns", origin.goal.p99_ns}, {"shed", origin.goal.shed}}},
      {"fewest_machines", fewest == nullptr ? ordered_json() : ordered_json(fewest->num_machines)},
      {"rows", std::move(all)}};
  return plan.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string calibration_table(const fleet::CalibratedModel& model) {
  std::vector<std::vector<std::string>> lines = {
      {"LOAD", "", "P50", "P99", "SHED", "REQUESTS", "DEADLINE", "SEED", "ERROR"}};
  for (const fleet::CalibrationRun& run : model.runs) {
    const auto add = [&](const char* what, const fleet::Figures& figures) -> auto& {
      lines.push_back({fmt::format("{:.1f}/s", run.per_second), what,
                       describe_duration(figures.p50_ns), describe_duration(figures.p99_ns),
                       percent(figures.shed), describe_count(run.num_requests),
                       describe_duration(run.deadline_ns), std::to_string(run.seed)});
      return lines.back();
    };
    add("measured", run.measured);
    add("simulated", run.simulated).push_back(percent(run.error()));
  }
  return fmt::format("{}{}: {}, {} between runs, {} outside; calibration error {}\n",
                     text_table(lines), printable(model.name), describe_runs(model),
                     describe_duration(model.gap_ns), describe_duration(model.overhead_ns),
                     percent(model.error()));
}

}  // namespace sluice::tool
