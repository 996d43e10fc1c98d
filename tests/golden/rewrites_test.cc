// Rewrites are exact for every constant: each golden case runs with other constants, with and
// without the passes, and agrees with `reference` without passes.
//
// Seeds are fixed. SLUICE_REWRITE_VARIANTS=1000 tries more of them, SLUICE_REWRITE_SEED=17 others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "compile/compile.h"
#include "golden/golden_case.h"
#include "golden/run_graph.h"
#include "golden/variants.h"

namespace sluice::golden {
namespace {

constexpr int kVariants = 40;

int number_from(const char* variable, int fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::atoi(text);
}

/// What is expected of a graph, and how sure that is.
struct Expectation {
  std::vector<Values> exact;        ///< of `reference` without passes
  std::vector<Values> twins[2];     ///< the same for inputs that differ by rounding
  std::vector<Values> unrewritten;  ///< of `cpu` without passes
};

Result<Expectation> expectation_of(const ir::Graph& graph, const std::vector<HostTensor>& inputs,
                                   std::uint32_t seed) {
  if (SLUICE_TRY(overflows(graph, inputs))) return unimplemented("sums overflow");
  const GraphRunner reference = SLUICE_TRY(GraphRunner::create(graph, "reference", false));
  Expectation expected;
  expected.exact = SLUICE_TRY(reference.run(inputs));
  for (const std::uint32_t twin : {0, 1}) {
    const GraphRunner noisy =
        SLUICE_TRY(GraphRunner::create(disturbed(graph, seed + twin), "reference", false));
    expected.twins[twin] = SLUICE_TRY(noisy.run(disturbed(inputs, seed + twin)));
  }
  const GraphRunner plain = SLUICE_TRY(GraphRunner::create(graph, "cpu", false));
  expected.unrewritten = SLUICE_TRY(plain.run(inputs));
  return expected;
}

class Rewrites : public ::testing::TestWithParam<std::string> {
 protected:
  /// Compares results of the rewritten graph, and of the graph as it is.
  static std::string compare(const Variant& variant, const GoldenCase& golden, std::uint32_t seed) {
    const ir::Graph& graph = variant.graph;
    const std::vector<HostTensor> inputs = random_inputs(graph.main(), seed);
    const auto expected = expectation_of(graph, inputs, seed);
    if (!expected.is_ok()) return "";  // the constants make no sense: see the unchanged graph
    const auto rewritten = GraphRunner::create(graph, "cpu", true);
    if (!rewritten.is_ok()) return rewritten.status().to_string();
    const auto actual = rewritten->run(inputs);
    if (!actual.is_ok()) return actual.status().to_string();
    std::string text;
    for (std::size_t i = 0; i < actual->size(); ++i) {
      const Comparison comparison = {.exact = expected->exact[i],
                                     .twins = {&expected->twins[0][i], &expected->twins[1][i]},
                                     .slack = golden.slack,
                                     .may_overflow = variant.is_extreme};
      const std::string plain = comparison.find_difference(expected->unrewritten[i], nullptr);
      if (!plain.empty() && !variant.is_extreme) {
        text += fmt::format("output {} without passes: {}; ", i, plain);
      }
      const std::string error = comparison.find_difference((*actual)[i], &expected->unrewritten[i]);
      if (!error.empty()) text += fmt::format("output {}: {}", i, error);
    }
    return text;
  }
};

TEST_P(Rewrites, AreExactForEveryConstant) {
  const auto golden = read_case(path_of(GetParam()));
  ASSERT_TRUE(golden.is_ok()) << golden.status().to_string();
  if (!golden->not_run.empty()) GTEST_SKIP() << golden->not_run;
  const auto base = base_graph(golden->head);
  ASSERT_TRUE(base.is_ok()) << base.status().to_string();
  const auto first = expectation_of(*base, random_inputs(base->main(), 0), 0);
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  EXPECT_EQ(compare({*base, "", false}, *golden, 0), "") << "with the constants of the file";
  const int seed = number_from("SLUICE_REWRITE_SEED", 1);
  const int count = number_from("SLUICE_REWRITE_VARIANTS", kVariants);
  for (int i = 0; i < count; ++i) {
    const auto variant_seed = static_cast<std::uint32_t>(seed + i);
    const auto variant = vary(*golden, variant_seed);
    if (!variant.is_ok()) continue;
    EXPECT_EQ(compare(*variant, *golden, variant_seed), "")
        << variant->changes << "\nagain: SLUICE_REWRITE_SEED=" << variant_seed
        << " SLUICE_REWRITE_VARIANTS=1";
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Rewrites, ::testing::ValuesIn(case_names()),
                         [](const auto& name) { return name.param; });

/// A new pass needs a case that it rewrites, as a program would compile it.
TEST(RewriteCases, EveryPassRewritesOne) {
  std::set<std::string> fired;
  for (const std::string& name : case_names()) {
    const auto golden = read_case(path_of(name));
    ASSERT_TRUE(golden.is_ok()) << golden.status().to_string();
    if (!golden->not_run.empty()) continue;
    const auto graph = base_graph(golden->head);
    ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
    const std::set<std::string> own = passes_that_rewrite(*graph);
    fired.insert(own.begin(), own.end());
  }
  for (const passes::Pass& pass : passes::default_pipeline()) {
    if (pass.name == "infer_types") continue;  // changes no operation
    // No kernel of the processor takes heads side by side, or convolves in 16 bits; golden_test has
    // cases.
    if (pass.name == "pack_heads" || pass.name == "half_batch_norm") continue;
    EXPECT_TRUE(fired.contains(std::string(pass.name))) << pass.name << " has no case here";
  }
}

}  // namespace
}  // namespace sluice::golden
