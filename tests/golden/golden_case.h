// A file of this folder: a graph, passes, and the graph that must come out. golden_test.cc says how
// it is written.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "passes/pass.h"

namespace sluice::golden {

inline constexpr std::string_view kSeparator = "// ----\n";

/// How far results of the rewritten graph may be from the graph's own: a share of the largest
/// number for floats, steps for integers. More than rounding is what a pass declares.
struct Slack {
  double of_largest = 0;
  int steps = 0;
};

struct GoldenCase {
  std::string head;  ///< all before the separator
  std::string expected;
  std::vector<passes::Pass> passes;
  std::set<std::string> refused;
  std::set<std::string> halves;  ///< operators that a backend computes in 16 bits
  Slack slack;
  std::set<std::string> kept;  ///< constants that set how much a pass may round
  std::string not_run;         ///< why the graph is not run; empty: it is
};

Result<GoldenCase> read_case(const std::filesystem::path& path);

/// The graph before the passes, with default attributes and inferred types.
Status complete(ir::Graph& graph);

/// Accepts all operations except those of these kinds and those whose body contains such a kind.
passes::Acceptance refuse(const std::set<std::string>& kinds);

/// Names of the files, without their ending.
std::vector<std::string> case_names();

std::filesystem::path path_of(std::string_view name);

}  // namespace sluice::golden
