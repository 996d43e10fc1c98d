// Graphs before and after passes, one case per file of this folder:
//
//     // pass: identities, dead_code     the passes, in order
//     // refuse: Where                   optional: no backend takes these operators, or bodies
//                                            with them
//     // halves: Conv                  optional: a backend computes these operators in 16 bits
//     // of largest: 0.02                optional: how far results of the rewritten graph may be,
//     // steps: 1                            see Slack
//     // keep: s                         optional: rewrites_test does not change this constant
//     // not run: reason                 optional: rewrites_test does not run the graph
//     // a line on what the case is about
//     subgraph @0 "main" { ... }
//     // ----
//     subgraph @0 "main" { ... }         what must come out
//
// The graph before is given default attributes and inferred types, so they may be left out there.
// SLUICE_REFRESH_GOLDEN=1 writes what comes out into the files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "golden/golden_case.h"
#include "ir/text/graph_text.h"
#include "ir/verify.h"
#include "ops/inference.h"
#include "passes/pass_manager.h"

namespace sluice::golden {
namespace {

/// The text after the passes; the graph must still be well-formed, of the same inferred types.
Result<std::string> run_case(const GoldenCase& golden) {
  ir::Graph graph = SLUICE_TRY(ir::parse_graph(golden.head));
  SLUICE_TRY(complete(graph).with_context("before"));
  passes::PassContext context;
  context.accepts = refuse(golden.refused);
  context.taker_has_kernel = context.accepts;
  context.native_halves = [&](const ir::Graph&, const ir::Subgraph&, const ir::Operation& op) {
    return golden.halves.contains(op.kind);
  };
  SLUICE_TRY(passes::run_passes(graph, golden.passes, context));
  SLUICE_TRY(ir::verify(graph).with_context("after"));
  std::string text = ir::print(graph);
  SLUICE_TRY(ops::infer_types(graph).with_context("after"));
  if (ir::print(graph) != text) return internal_error("the types are not inferred:\n{}", text);
  return text;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, PassOutputMatchesTheGoldenFile) {
  const auto path = path_of(GetParam());
  const auto golden = read_case(path);
  ASSERT_TRUE(golden.is_ok()) << golden.status().to_string();
  const auto text = run_case(*golden);
  ASSERT_TRUE(text.is_ok()) << text.status().to_string();
  if (std::getenv("SLUICE_REFRESH_GOLDEN") != nullptr) {
    const std::string refreshed = golden->head + std::string(kSeparator) + *text;
    ASSERT_TRUE(write_file_atomically(path, std::as_bytes(std::span(refreshed))).is_ok());
    return;
  }
  EXPECT_EQ(*text, golden->expected);
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, ::testing::ValuesIn(case_names()),
                         [](const auto& golden) { return golden.param; });

}  // namespace
}  // namespace sluice::golden
