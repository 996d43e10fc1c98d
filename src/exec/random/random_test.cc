// Random numbers of a run: what seeds, runs, iterations and streams change, and what they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using testing::f32_view;
using testing::floats;

constexpr std::string_view kTwoDraws = R"(
subgraph @0 "main" {
  input %x : f32[4]
  [%s : u64[3]] = sluice::RandomState.1[]
  [%y : f32[4]] = RandomNormalLike.22[%x, %s] {sluice_stream = 0}
  [%z : f32[4]] = RandomNormalLike.22[%x, %s] {sluice_stream = 1}
  output [%y, %z]
}
)";

using Floats = std::vector<float>;

LoadedModel load(std::optional<std::uint64_t> seed, std::shared_ptr<RandomSource> source = nullptr,
                 std::string_view graph = kTwoDraws) {
  LoadOptions options;
  options.random = source ? std::move(source) : seed ? RandomSource::create(seed) : nullptr;
  auto model =
      LoadedModel::load(testing::executable_of(graph, "reference"), testing::registry(), options);
  EXPECT_TRUE(model.is_ok()) << model.status().to_string();
  return std::move(model).value();
}

std::vector<Floats> run(Context& context) {
  Aligned<float> x({1, 2, 3, 4});
  EXPECT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
  const Status status = context.run();
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return {floats(context.output(0)), floats(context.output(1))};
}

std::vector<Floats> run(const LoadedModel& model) {
  auto context = model.create_context();
  EXPECT_TRUE(context.is_ok()) << context.status().to_string();
  return run(*context);
}

TEST(Random, StreamsRunsAndLoadsDiffer) {
  const LoadedModel model = load(std::nullopt);
  const auto first = run(model);
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(run(model)[0], first[0]);
  EXPECT_NE(run(load(std::nullopt))[0], first[0]);
}

TEST(Random, SeedRepeatsTheRunsInEveryContext) {
  const LoadedModel model = load(5);
  const auto first = run(model);
  const auto second = run(model);
  const LoadedModel again = load(5);
  auto context = again.create_context();
  EXPECT_EQ(run(*context), first);
  EXPECT_EQ(run(*context), second);
  EXPECT_NE(run(load(6))[0], first[0]);
}

TEST(Random, SetSeedStartsAgainAlsoInAContextThatRan) {
  const LoadedModel model = load(5);
  auto context = model.create_context();
  const auto first = run(*context);
  model.set_seed(5);
  EXPECT_EQ(run(*context), first);
  model.set_seed(5);
  EXPECT_EQ(run(model), first);
}

TEST(Random, LoadsOfOneSourceShareTheCount) {
  const auto source = RandomSource::create(5);
  const LoadedModel a = load({}, source);
  const LoadedModel b = load({}, source);
  const LoadedModel alone = load(5);
  const auto first = run(alone);
  EXPECT_EQ(run(a), first);
  EXPECT_EQ(run(b), run(alone));
}

TEST(Random, RunsInPartsCountAsRuns) {
  const LoadedModel whole = load(5);
  const LoadedModel parted = load(5);
  auto context = parted.create_context();
  for (int i = 0; i < 2; ++i) {
    const auto expected = run(whole);
    Aligned<float> x({1, 2, 3, 4});
    ASSERT_TRUE(context->set_input(0, f32_view(x, {4})).is_ok());
    ASSERT_TRUE(context->begin().is_ok());
    ASSERT_TRUE(context->submit_segment(0).is_ok());
    while (!*context->poll_segment(0)) {
    }
    ASSERT_TRUE(context->finish().is_ok());
    EXPECT_EQ(floats(context->output(0)), expected[0]);
  }
}

TEST(Random, OperationWithoutTheStateIsRefused) {
  const LoadedModel model = load({}, nullptr, R"(
subgraph @0 "main" {
  input %x : f32[4]
  [%y : f32[4]] = RandomNormalLike.22[%x]
  output [%y]
}
)");
  auto context = model.create_context();
  Aligned<float> x({1, 2, 3, 4});
  ASSERT_TRUE(context->set_input(0, f32_view(x, {4})).is_ok());
  const Status status = context->run();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("no state of random numbers"));
}

}  // namespace
}  // namespace sluice::exec
