// The profiled scheduler's makespan beside random search, on three machines and ten graphs, by the
// cost model's clock. docs/benchmarks.md has the table.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "compile/schedule/find_assignment.h"
#include "compile/testing/schedule_problems.h"

int main() {
  using namespace sluice::compile;  // NOLINT(google-build-using-namespace)
  constexpr int kRandom = 10'000;
  double worst = 0;
  fmt::print(
      "| machine | graph | tasks | best device alone, ms | {} random + climbing, ms | scheduler, "
      "ms | of random |\n"
      "|---|---|---|---|---|---|---|\n",
      kRandom);
  for (const auto& machine : testing::schedule_machines()) {
    for (const std::string& graph : testing::schedule_graphs()) {
      const ScheduleProblem problem = testing::schedule_problem(graph, machine);
      const ScheduleOutcome outcome = find_assignment(problem);
      const double random_ns = testing::random_search_ns(problem, kRandom);
      const double alone_ns = *std::ranges::min_element(outcome.single_device_ns);
      const std::string alone = std::isinf(alone_ns) ? "-" : fmt::format("{:.2f}", alone_ns / 1e6);
      worst = std::max(worst, outcome.makespan_ns / random_ns);
      fmt::print("| {} | {} | {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", machine.name, graph,
                 problem.tasks.size(), alone, random_ns / 1e6, outcome.makespan_ns / 1e6,
                 outcome.makespan_ns / random_ns);
    }
  }
  fmt::print("\nlargest ratio: {:.3f}\n", worst);
}
