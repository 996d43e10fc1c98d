#include "compile/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/compile.h"
#include "compile/explain.h"
#include "ir/text/graph_text.h"

namespace sluice::compile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const backend::BackendRegistry& registry() {
  static const backend::BackendRegistry kRegistry = backend::BackendRegistry::discover();
  return kRegistry;
}

ir::Graph chain() {
  return ir::parse_graph(R"(
subgraph @0 "main" {
  input %x : f32[64, 64]
  [%a : f32[64, 64]] = Exp.13[%x] "block.1/exp"
  [%b : f32[64, 64]] = MatMul.13[%a, %x] "block.1/product"
  [%c : f32[64, 64]] = Relu.14[%b] "block.2/relu"
  output [%c]
}
)")
      .value();
}

Result<package::Executable> place(std::vector<std::string> rules,
                                  std::vector<std::string> backends = {"cpu"},
                                  PartitionLimits limits = {}) {
  CompileOptions options;
  options.backends = std::move(backends);
  options.places = std::move(rules);
  options.limits = limits;
  return compile(chain(), registry(), options);
}

/// Backends of the operations, in order.
std::vector<std::string> backends_of(const Result<package::Executable>& executable) {
  if (!executable.is_ok()) return {executable.status().to_string()};
  std::vector<std::string> names;
  for (const std::int16_t number : executable->backend_of.front()) {
    names.push_back(number < 0 ? "-" : executable->backends[static_cast<std::size_t>(number)]);
  }
  return names;
}

TEST(MatchesGlob, StarIsAnyTextAndQuestionMarkOneCharacter) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a*c", "abcbc"));
  EXPECT_TRUE(matches_glob("a?c*", "abc"));
  EXPECT_TRUE(matches_glob("**b", "ab"));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
  EXPECT_FALSE(matches_glob("a*d", "abc"));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(Placement, OperatorRuleMovesItsOperationsAndKeepsThemUnfused) {
  EXPECT_THAT(backends_of(place({"Relu=reference"})), ElementsAre("cpu", "cpu", "reference"));
  EXPECT_THAT(backends_of(place({})), ElementsAre("cpu", "cpu"));
}

TEST(Placement, NamePrecedesOperatorAndOperatorPrecedesGlob) {
  EXPECT_THAT(backends_of(place({"*=reference", "MatMul=cpu", "block.1/exp=cpu"})),
              ElementsAre("cpu", "cpu", "reference"));
  EXPECT_THAT(backends_of(place({"block.1/*=reference", "block.?/*=cpu"})),
              ElementsAre("reference", "reference", "cpu"));
}

TEST(Placement, HostIsThePreferredHostBackend) {
  EXPECT_THAT(backends_of(place({"MatMul=host"}, {"reference", "cpu"})),
              ElementsAre("reference", "reference", "reference"));
  EXPECT_THAT(place({"MatMul=host"}, {"sim"}).status().message(),
              HasSubstr("no backend of --backend computes on the host"));
}

TEST(Placement, FusionMovesNothingToALaterBackend) {
  // `cpu` has both kernels, but none of the two as one; `reference` takes any body.
  auto graph = ir::parse_graph(R"(
subgraph @0 "main" {
  input %x : f32[64, 64]
  const %axes : i64[1] = [1]
  [%a : f32[64, 1]] = ReduceSum.13[%x, %axes] {keepdims = 1}
  [%b : f32[64, 1]] = Div.14[%a, %a]
  [%c : f32[64, 64]] = Softmax.13[%x] {axis = 1}
  [%d : f32[64, 64]] = Sub.14[%c, %b]
  output [%d]
}
)")
                   .value();
  CompileOptions options;
  options.backends = {"cpu", "reference"};
  const auto executable = compile(std::move(graph), registry(), options);
  ASSERT_TRUE(executable.is_ok()) << executable.status().to_string();
  EXPECT_THAT(executable->backends, ElementsAre("cpu", "reference"));
  for (const std::int16_t number : executable->backend_of.front()) EXPECT_LE(number, 0);
}

TEST(Placement, MalformedRulesAndUnknownBackendsAreRefused) {
  for (const char* rule : {"Relu", "=cpu", "Relu="}) {
    EXPECT_THAT(place({rule}).status().message(),
                AllOf(HasSubstr("PATTERN=BACKEND"), HasSubstr(std::string("--place ") + rule)));
  }
  EXPECT_THAT(place({"Relu=quantum"}).status().message(), HasSubstr("quantum"));
  EXPECT_FALSE(place({"Relu=cpu,,reference"}).is_ok());
}

TEST(Placement, RuleThatMatchesNothingIsRefused) {
  EXPECT_THAT(place({"Conv=cpu"}).status().message(),
              HasSubstr("--place \"Conv=cpu\" matches no operation"));
}

TEST(Placement, LimitsNameTheSegmentThatBreaksThem) {
  EXPECT_THAT(place({"MatMul=reference"}, {"cpu"}, {1, 2}).status().message(),
              HasSubstr("falls into 3 segments, at most 2"));
  EXPECT_THAT(
      place({"Relu=reference"}, {"cpu"}, {2, 0}).status().message(),
      AllOf(HasSubstr("has 1 operation,"), HasSubstr("block.2/relu"), HasSubstr("\"reference\"")));
}

TEST(Explain, NamesRuleAlternativesAndWhatCrossesSegments) {
  const auto executable = place({"Relu=reference"});
  ASSERT_TRUE(executable.is_ok()) << executable.status().to_string();
  const std::vector<std::shared_ptr<const backend::Backend>> backends = {
      registry().find("cpu").value(), registry().find("reference").value()};
  const auto explanation = explain(*executable, backends);
  ASSERT_TRUE(explanation.is_ok()) << explanation.status().to_string();
  ASSERT_EQ(explanation->nodes.size(), 3U);
  const NodePlacement& relu = explanation->nodes.back();
  EXPECT_EQ(relu.name, "block.2/relu");
  EXPECT_EQ(relu.backend, "reference");
  EXPECT_EQ(relu.why, "placed by a rule: --place Relu=reference");
  ASSERT_EQ(relu.alternatives.size(), 2U);
  EXPECT_TRUE(relu.alternatives.front().is_supported);
  EXPECT_EQ(explanation->nodes.front().why, "the first backend that supports it");
  ASSERT_EQ(explanation->segments.size(), 2U);
  ASSERT_EQ(explanation->edges.size(), 1U);
  EXPECT_EQ(explanation->edges.front().size_bytes, 64 * 64 * 4);
}

}  // namespace
}  // namespace sluice::compile
