// Every tactic of an operation gives what the default gives; lists tell the time of each step.

#include "plugin/generate/tactics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plugin/generate/generate.h"
#include "plugin/libraries/testing/emulated_device.h"
#include "plugin/libraries/testing/test_op.h"
#include "plugin/steps/step_times.h"
#include "plugin/testing/device_lists.h"
#include "sluice/extensions/variants.h"

namespace sluice::cuda {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Op = testing::TestOp;

void product(Op& op) { op.input({33, 24}).input({24, 40}).output({33, 40}); }
void few_rows(Op& op) { op.input({2, 24}).input({24, 40}).output({2, 40}); }
void convolution(Op& op) {
  op.input({1, 8, 9, 9}).input({16, 8, 3, 3}).input({16}).output({1, 16, 9, 9});
  op.set("pads", {1, 1, 1, 1}).body_input({1, 16, 9, 9}).step("Add", {0, 1});
}
void attention(Op& op) {
  op.input({1, 2, 20, 16}).input({1, 2, 24, 16}).input({1, 2, 24, 16}).output({1, 2, 20, 16});
}
void few_queries(Op& op) {
  op.input({1, 2, 1, 16}).input({1, 2, 24, 16}).input({1, 2, 24, 16}).output({1, 2, 1, 16});
}

struct Case {
  const char* kind;
  sluice_element_type type;
  void (*describe)(Op& op);
};

constexpr Case kCases[] = {
    {"MatMul", plugin::kF32, product},       {"MatMul", plugin::kF16, product},
    {"MatMul", plugin::kF32, few_rows},      {"Conv", plugin::kF32, convolution},
    {"Conv", plugin::kF16, convolution},     {"Attention", plugin::kF16, attention},
    {"Attention", plugin::kF16, few_queries}};

std::unique_ptr<Op> make(const Case& c, const std::string& tactic = "") {
  auto op = std::make_unique<Op>(c.kind, c.type);
  c.describe(*op);
  if (!tactic.empty()) op->set_text(SLUICE_VARIANT_ATTRIBUTE, tactic);
  return op;
}

std::vector<std::string> tactics_of(const Case& c) { return list_tactics(make(c)->get(), false); }

TEST(CudaTactics, AllTacticsAgreeWithTheDefault) {
  const testing::EmulatedDevice device(80);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  for (const Case& c : kCases) {
    const auto inputs = testing::some_inputs(make(c)->get());
    const auto usual = testing::run_op(*device.backend, *device.group, make(c)->get(), inputs);
    const std::vector<double> expected(usual.output.begin(), usual.output.end());
    const std::vector<std::string> tactics = tactics_of(c);
    EXPECT_FALSE(tactics.empty()) << c.kind;
    for (const std::string& tactic : tactics) {
      SCOPED_TRACE(std::string(c.kind) + " by " + tactic);
      testing::expect_close(
          testing::run_op(*device.backend, *device.group, make(c, tactic)->get(), inputs), expected,
          2 * testing::tolerance_of_sum(c.type, 72));
    }
  }
}

TEST(CudaTactics, NamesAreThoseOfKernelsWithOtherTexts) {
  std::set<std::string> offered;
  for (const Case& c : kCases) {
    Source usual;
    ASSERT_EQ(generate(make(c)->get(), &usual).text, "");
    EXPECT_FALSE(usual.is_chosen);
    std::set<std::string> texts = {usual.text};
    for (const std::string& tactic : tactics_of(c)) {
      Source source;
      ASSERT_EQ(generate(make(c, tactic)->get(), &source).text, "");
      EXPECT_TRUE(source.is_chosen) << tactic;
      EXPECT_TRUE(texts.insert(source.text).second) << tactic << " is another tactic's kernel";
      offered.insert(tactic);
    }
  }
  EXPECT_THAT(offered, IsSupersetOf({"tile-128x128x16", "tile-64x64x16", "tile-32x32x32",
                                     "tile-128x128x32", "tile-16x32x128", "thread-per-element",
                                     "matrix-tiles", "warp-per-query"}));
}

TEST(CudaTactics, LibraryAsTheDefaultMakesEveryGeneratedKernelATactic) {
  const auto op = make(kCases[0]);
  const auto alone = list_tactics(op->get(), false);
  const auto beside = list_tactics(op->get(), true);
  EXPECT_THAT(alone, Not(Contains("generated")));
  EXPECT_THAT(beside, Contains("generated"));
  EXPECT_EQ(beside.size(), alone.size() + 1);
}

TEST(CudaTactics, UnknownNamesAndThoseThatDoNotFitMeanTheDefault) {
  for (const Case& c : kCases) {
    Source usual;
    ASSERT_EQ(generate(make(c)->get(), &usual).text, "");
    for (const char* name : {"tile-1x1x1", "avx512/direct", "nonsense"}) {
      Source source;
      ASSERT_EQ(generate(make(c, name)->get(), &source).text, "");
      EXPECT_EQ(source.text, usual.text) << name;
      EXPECT_FALSE(source.is_chosen) << name;
    }
  }
}

using StepTimesTest = DeviceListsTest;

TEST_F(StepTimesTest, ObservedListTellsItsStepsByCountedInstructions) {
  struct Step {
    std::string kind, name;
    std::int64_t duration_ns;
  };
  std::vector<Step> steps;
  const auto collect = [](void* user, const sluice_step_time* told, std::int32_t count) {
    for (std::int32_t i = 0; i < count; ++i) {
      static_cast<std::vector<Step>*>(user)->push_back(
          {told[i].kind, told[i].name, told[i].duration_ns});
    }
  };
  Stream& stream = make_stream();
  CommandList& list = make_quadruple();
  EXPECT_FALSE(are_steps_observed());
  kStepTimes.observe(nullptr, collect, &steps);
  EXPECT_TRUE(are_steps_observed());
  quadruple(stream, list, 3);
  kStepTimes.observe(nullptr, nullptr, nullptr);
  quadruple(stream, list, 5);
  ASSERT_EQ(steps.size(), 4U) << "the second run is not observed";
  EXPECT_THAT((std::vector{steps[0].kind, steps[1].kind, steps[2].kind, steps[3].kind}),
              ElementsAre("copy", "Add", "Add", "copy"));
  EXPECT_EQ(steps[1].name, "sum");
  EXPECT_GT(steps[1].duration_ns, 1000) << "more than the microsecond of a piece of work";
  EXPECT_EQ(steps[1].duration_ns, steps[2].duration_ns) << "equal kernels, equal counts";
}

}  // namespace
}  // namespace sluice::cuda
