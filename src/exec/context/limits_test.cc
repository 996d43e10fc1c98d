// Limits of a run: memory, and a checkpoint that ends it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log/work_counts.h"
#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;
using testing::load;

Context limited_context(const LoadedModel& model) {
  auto context = model.create_context();
  EXPECT_TRUE(context.is_ok()) << context.status().to_string();
  return std::move(*context);
}

void run_limited(Context& context) {
  const Status status = context.run();
  ASSERT_TRUE(status.is_ok()) << status.to_string();
}

TEST(Loop, CheckpointEndsAnEndlessLoop) {
  Context context = limited_context(load(testing::kGrowingLoop));
  Aligned<float> never({1e9F});
  ASSERT_TRUE(context.set_input(0, f32_view(never, {})).is_ok());
  int calls = 0;
  context.set_checkpoint([&calls] {
    if (++calls < 50) return ok_status();
    return make_error(Code::kCancelled, "enough");
  });
  const Status status = context.run();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_THAT(status.message(), HasSubstr("enough"));
  EXPECT_EQ(calls, 50);
  context.set_checkpoint({});
  Aligned<float> soon({1});
  ASSERT_TRUE(context.set_input(0, f32_view(soon, {})).is_ok());
  run_limited(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 1));
}

TEST(Loop, MemoryLimitEndsALoopThatGrows) {
  LoadOptions options;
  options.max_memory_bytes = 100'000;
  auto model = LoadedModel::load(testing::executable_of(testing::kGrowingLoop), testing::registry(),
                                 options);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  Context context = limited_context(*model);
  Aligned<float> never({1e9F});
  ASSERT_TRUE(context.set_input(0, f32_view(never, {})).is_ok());
  const Status status = context.run();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("no memory for"));
}

/// 8 bytes ask for an output of any size.
constexpr std::string_view kSizeFromInput = R"(
subgraph @0 "main" {
  input %shape : i64[1]
  const %one : f32[1] = [1.0]
  [%y : f32[?]] = Expand.13[%one, %shape]
  output [%y]
}
)";

TEST(Context, OutputOfTheInputsSizeStaysWithinTheLimit) {
  LoadOptions options;
  options.max_memory_bytes = 1 << 20;
  auto model =
      LoadedModel::load(testing::executable_of(kSizeFromInput), testing::registry(), options);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  Context context = limited_context(*model);
  for (const std::int64_t size : {std::int64_t{1} << 20, std::int64_t{1} << 60}) {
    Aligned<std::int64_t> given({size});
    ASSERT_TRUE(context.set_input(0, testing::i64_view(given, {1})).is_ok());
    EXPECT_FALSE(context.run().is_ok()) << size;
  }
  Aligned<std::int64_t> given({1000});
  ASSERT_TRUE(context.set_input(0, testing::i64_view(given, {1})).is_ok());
  run_limited(context);
  EXPECT_EQ(context.output(0).size_bytes, 4000);
}

/// Padding asks for an output of 8 TiB; the kernel would count the windows of each of its rows.
constexpr std::string_view kLargeWindows = R"(
subgraph @0 "main" {
  input %x : f32[1,1,4,4]
  [%y : f32[1,1,549755813888,4]] = MaxPool.12[%x] {kernel_shape = [5, 1], pads = [274877906944, 0, 274877906944, 0]}
  output [%y]
}
)";

TEST(Context, ResultThatNoMemoryHoldsIsRefusedBeforeItsKernelIsMade) {
  const std::int64_t kernels = work_counts.kernels;
  const auto model =
      LoadedModel::load(testing::executable_of(kLargeWindows), testing::registry(), {});
  EXPECT_EQ(model.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(model.status().message(), HasSubstr("its result has 8796093022208 bytes"));
  EXPECT_EQ(work_counts.kernels, kernels);
}

}  // namespace
}  // namespace sluice::exec
