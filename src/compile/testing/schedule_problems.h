// Machines and task graphs on which schedulers are compared.
#pragma once

#include <string>
#include <vector>

#include "compile/schedule/problem.h"

namespace sluice::compile::testing {

struct NamedMachine {
  std::string name;
  std::vector<ScheduleDevice> devices;
  std::vector<double> speed;  ///< by device; costs of a graph are divided by it
  std::vector<std::vector<TransferCost>> transfers;
};

/// A fast and a slow device behind a thin link; four equal devices in a chain; a fast device that
/// is too small for the whole model, beside a slow one.
std::vector<NamedMachine> schedule_machines();

/// Ten shapes of graphs: chain, towers, inception, transformer, encoder-decoder with skips,
/// lattice, fan-out and three random ones. The same each time.
std::vector<std::string> schedule_graphs();

/// The graph of that name on the machine.
ScheduleProblem schedule_problem(const std::string& graph, const NamedMachine& machine);

/// The best of `count` random assignments, then hill climbing by single moves from the best of
/// them: what a scheduler must come near.
double random_search_ns(const ScheduleProblem& problem, int count);

}  // namespace sluice::compile::testing
