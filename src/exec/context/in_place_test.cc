// Outputs bound to the memory of inputs: states that runs change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::f32_view;
using testing::i64_view;
using testing::load;

/// A cache that takes a row and is read afterwards.
constexpr std::string_view kCache = R"(
subgraph @0 "main" {
  input %row : f32[1,2]
  input %at : i64[1,1]
  input %cache : f32[3,2]
  [%next : f32[3,2]] = ScatterND.18[%cache, %at, %row] {reduction = "none"}
  const %axis : i64[1] = [0]
  [%sum : f32[1,2]] = ReduceSum.13[%next, %axis] {keepdims = 1, noop_with_empty_axes = 0}
  output [%sum, %next]
}
)";

/// As above, but what the cache was is read after it changes.
constexpr std::string_view kReadLater = R"(
subgraph @0 "main" {
  input %row : f32[1,2]
  input %at : i64[1,1]
  input %cache : f32[3,2]
  [%next : f32[3,2]] = ScatterND.18[%cache, %at, %row] {reduction = "none"}
  const %axis : i64[1] = [0]
  [%step : f32[3,2]] = Sub.14[%next, %cache]
  [%sum : f32[1,2]] = ReduceSum.13[%step, %axis] {keepdims = 1, noop_with_empty_axes = 0}
  output [%sum, %next]
}
)";

/// Runs a model whose output 1 is the next value of input 2, in the memory of that input.
class StatefulRuns {
 public:
  explicit StatefulRuns(std::string_view graph, std::string_view backend = "cpu")
      : context_(load(graph, backend).create_context().value()) {
    EXPECT_TRUE(context_.set_input(2, f32_view(state_, {3, 2})).is_ok());
    EXPECT_TRUE(context_.bind_output(1, state_.data(), state_.size_bytes()).is_ok());
  }

  /// The sum that the model gives.
  std::vector<float> write(std::int64_t at, std::vector<float> values) {
    Aligned<float> row(values);
    Aligned<std::int64_t> place({at});
    EXPECT_TRUE(context_.set_input(0, f32_view(row, {1, 2})).is_ok());
    EXPECT_TRUE(context_.set_input(1, i64_view(place, {1, 1})).is_ok());
    const Status status = context_.run();
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    return testing::floats(context_.output(0));
  }

  std::vector<float> state() { return {state_.data(), state_.data() + 6}; }
  std::int64_t copied_bytes() const { return context_.copied_bytes(); }

 private:
  Aligned<float> state_{{0, 0, 0, 0, 0, 0}};
  Context context_;
};

TEST(InPlaceOutputs, StateThatIsReadAfterItsChangeIsNotCopied) {
  StatefulRuns runs(kCache);
  EXPECT_THAT(runs.write(0, {1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(runs.write(2, {5, 6}), ElementsAre(6, 8));
  EXPECT_THAT(runs.write(0, {2, 2}), ElementsAre(7, 8));
  EXPECT_THAT(runs.state(), ElementsAre(2, 2, 0, 0, 5, 6));
  EXPECT_EQ(runs.copied_bytes(), 0);
}

TEST(InPlaceOutputs, StateWhoseOldValueIsReadLaterIsCopiedAtTheEnd) {
  StatefulRuns runs(kReadLater);
  EXPECT_THAT(runs.write(0, {1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(runs.write(0, {5, 5}), ElementsAre(4, 3));
  EXPECT_THAT(runs.state(), ElementsAre(5, 5, 0, 0, 0, 0));
  EXPECT_EQ(runs.copied_bytes(), 2 * 24);
}

TEST(InPlaceOutputs, KernelThatMayNotOverwriteGetsOtherMemory) {
  StatefulRuns runs(kCache, "reference");
  EXPECT_THAT(runs.write(0, {1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(runs.write(2, {5, 6}), ElementsAre(6, 8));
  EXPECT_THAT(runs.state(), ElementsAre(1, 2, 0, 0, 5, 6));
  EXPECT_EQ(runs.copied_bytes(), 2 * 24);
}

TEST(InPlaceOutputs, MemoryThatOverlapsAnInputInPartIsWrittenAtTheEnd) {
  const LoadedModel model = load(R"(
subgraph @0 "main" {
  input %x : f32[16]
  [%y : f32[16]] = Neg.13[%x]
  [%z : f32[16]] = Add.14[%y, %x]
  output [%y, %z]
}
)",
                                 "cpu");
  Aligned<float> memory(std::vector<float>(32, 1.0F));
  auto context = model.create_context();
  ASSERT_TRUE(context.is_ok());
  const terms::TensorView x = {memory.data(), 64, ir::ElementType::kF32, {16}};
  ASSERT_TRUE(context.value().set_input(0, x).is_ok());
  ASSERT_TRUE(context.value().bind_output(0, memory.data(), 128).is_ok());
  ASSERT_TRUE(context.value().run().is_ok());
  EXPECT_THAT(testing::floats(context.value().output(1)), ::testing::Each(0.0F));
  EXPECT_EQ(memory.data()[0], -1.0F);
}

}  // namespace
}  // namespace sluice::exec
