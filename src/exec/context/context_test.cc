#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;
using testing::i64_view;
using testing::load;

constexpr std::string_view kAddRelu = R"(
subgraph @0 "main" {
  input %x : f32[4]
  const %c : f32[4] = [1.0, -2.0, 3.0, -4.0]
  [%s : f32[4]] = Add.14[%x, %c]
  [%y : f32[4]] = Relu.14[%s]
  output [%y, %s]
}
)";

constexpr std::string_view kDynamic = R"(
subgraph @0 "main" {
  input %x : f32[N,2]
  [%s : f32[N,2]] = Add.14[%x, %x]
  [%y : f32[N,2]] = Relu.14[%s]
  output [%y]
}
)";

Context make_context(const LoadedModel& model) {
  auto context = model.create_context();
  EXPECT_TRUE(context.is_ok()) << context.status().to_string();
  return std::move(context).value();
}

TEST(Context, RunsAndOwnsItsOutputs) {
  const LoadedModel model = load(kAddRelu);
  Context context = make_context(model);
  Aligned<float> x({1, 1, 1, 1});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
  const Status status = context.run();
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(2, 0, 4, 0));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(2, -1, 4, -3));
}

TEST(Context, HasItsArenaBeforeTheFirstRun) {
  const LoadedModel model = load(R"(
subgraph @0 "main" {
  input %x : f32[1000]
  [%a : f32[1000]] = Relu.14[%x]
  [%y : f32[1000]] = Relu.14[%a]
  output [%y]
}
)");
  const Context context = make_context(model);
  EXPECT_GE(context.memory_bytes(), 4000) << "a lack of memory fails the load";
}

TEST(Context, WritesStraightIntoAlignedMemoryThatIsBound) {
  const LoadedModel model = load(kAddRelu);
  Context context = make_context(model);
  Aligned<float> x({1, 1, 1, 1});
  Aligned<float> y({9, 9, 9, 9});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
  ASSERT_TRUE(context.bind_output(0, y.data(), y.size_bytes()).is_ok());
  ASSERT_TRUE(context.run().is_ok());
  EXPECT_EQ(context.output(0).data, y.data());
  EXPECT_EQ(y.data()[2], 4);
}

TEST(Context, CopiesWhereMemoryIsNotAligned) {
  const LoadedModel model = load(kAddRelu);
  Context context = make_context(model);
  Aligned<float> x({0, 1, 1, 1, 1});
  Aligned<float> y({9, 9, 9, 9, 9});
  const terms::TensorView view = {x.data() + 1, 16, ir::ElementType::kF32, {4}};
  ASSERT_TRUE(context.set_input(0, view).is_ok());
  ASSERT_TRUE(context.bind_output(0, y.data() + 1, 16).is_ok());
  ASSERT_TRUE(context.run().is_ok());
  EXPECT_EQ(y.data()[0], 9);
  EXPECT_EQ(y.data()[1], 2);
  x.data()[1] = 5;  // read anew by each run
  ASSERT_TRUE(context.run().is_ok());
  EXPECT_EQ(y.data()[1], 6);
}

TEST(Context, BoundMemoryThatIsTooSmallIsAnError) {
  const LoadedModel model = load(kAddRelu);
  Context context = make_context(model);
  Aligned<float> x({1, 1, 1, 1});
  Aligned<float> y({9, 9});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
  ASSERT_TRUE(context.bind_output(0, y.data(), y.size_bytes()).is_ok());
  const Status status = context.run();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("output \"y\" has 16 bytes"));
  EXPECT_EQ(y.data()[0], 9);
}

TEST(Context, WrongInputErrorNamesInputAndExpectedType) {
  const LoadedModel model = load(kAddRelu);
  Context context = make_context(model);
  Aligned<float> x({1, 1, 1});
  EXPECT_EQ(context.set_input(0, f32_view(x, {3})).message(),
            "input \"x\": got f32[3], model takes f32[4]");
  Aligned<std::int64_t> integers({1, 1, 1, 1});
  EXPECT_EQ(context.set_input(0, i64_view(integers, {4})).message(),
            "input \"x\": got i64[4], model takes f32[4]");
  EXPECT_EQ(context.set_input(1, f32_view(x, {4})).code(), Code::kInvalidArgument);
  EXPECT_EQ(context.set_input(0, f32_view(x, {4})).code(), Code::kInvalidArgument)
      << "its bytes are too few";
}

TEST(Context, MissingInputIsNamed) {
  const LoadedModel model = load(kAddRelu);
  Context context = make_context(model);
  const Status status = context.run();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("\"x\" of type f32[4]"));
}

TEST(Context, ShapesMayChangeFromRunToRun) {
  const LoadedModel model = load(kDynamic);
  Context context = make_context(model);
  for (const std::int64_t n : {1, 3, 1, 0, 2}) {
    Aligned<float> x(std::vector<float>(static_cast<std::size_t>(n) * 2, 1.5F));
    ASSERT_TRUE(context.set_input(0, f32_view(x, {n, 2})).is_ok());
    const Status status = context.run();
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_THAT(context.output(0).dims, ElementsAre(n, 2));
    EXPECT_EQ(floats(context.output(0)), std::vector<float>(static_cast<std::size_t>(n) * 2, 3));
  }
}

TEST(Context, ManyShapesDoNotGrowItsMemory) {
  const LoadedModel model = load(kDynamic);
  Context context = make_context(model);
  const auto run_all = [&] {
    for (std::int64_t n = 300; n > 0; --n) {  // the largest first: buffers never need to grow
      Aligned<float> x(std::vector<float>(static_cast<std::size_t>(n) * 2, 1.5F));
      ASSERT_TRUE(context.set_input(0, f32_view(x, {n, 2})).is_ok());
      ASSERT_TRUE(context.run().is_ok());
      ASSERT_EQ(floats(context.output(0)), std::vector<float>(static_cast<std::size_t>(n) * 2, 3));
    }
  };
  run_all();
  const std::int64_t bytes = context.memory_bytes();
  run_all();  // shapes that were met, and forgotten, before
  EXPECT_EQ(context.memory_bytes(), bytes);
}

TEST(Context, ShapesCanDependOnInputs) {
  const LoadedModel model = load(R"(
subgraph @0 "main" {
  input %x : f32[6]
  input %shape : i64[2]
  [%r : f32[?]] = Reshape.14[%x, %shape] {allowzero = 0}
  [%y : f32[?]] = Relu.14[%r]
  output [%y, %r]
}
)");
  Context context = make_context(model);
  Aligned<float> x({-1, 2, -3, 4, -5, 6});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {6})).is_ok());
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{2, 3}, {3, 2}, {-1, 6}}) {
    Aligned<std::int64_t> wanted(shape);
    ASSERT_TRUE(context.set_input(1, i64_view(wanted, {2})).is_ok());
    const Status status = context.run();
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_EQ(context.output(0).dims[1], shape[1]);
    EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 2, 0, 4, 0, 6));
    EXPECT_THAT(floats(context.output(1)), ElementsAre(-1, 2, -3, 4, -5, 6));
  }
}

TEST(Context, ShapesCanDependOnData) {
  const LoadedModel model = load(R"(
subgraph @0 "main" {
  input %x : f32[2,3]
  [%positions : i64[2,M]] = NonZero.13[%x]
  [%columns : i64[M,2]] = Transpose.13[%positions] {perm = [1, 0]}
  output [%columns, %positions]
}
)");
  Context context = make_context(model);
  Aligned<float> x({0, 1, 0, 1, 0, 0});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {2, 3})).is_ok());
  Status status = context.run();
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_THAT(context.output(0).dims, ElementsAre(2, 2));
  const auto* columns = static_cast<const std::int64_t*>(context.output(0).data);
  EXPECT_THAT(std::vector<std::int64_t>(columns, columns + 4), ElementsAre(0, 1, 1, 0));
  x.data()[5] = 7;
  status = context.run();
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_THAT(context.output(0).dims, ElementsAre(3, 2));
  EXPECT_THAT(context.output(1).dims, ElementsAre(2, 3));
}

TEST(Context, TenThousandShapesFromDataAreForgotten) {
  LoadOptions options;
  options.num_threads = 1;
  options.max_recorded_bytes = 1 << 20;
  auto loaded = LoadedModel::load(testing::executable_of(R"(
subgraph @0 "main" {
  input %n : i64[1]
  const %one : f32[1] = [1.0]
  [%shape : i64[1]] = Abs.13[%n]
  [%y : f32[M]] = Expand.13[%one, %shape]
  output [%y]
}
)"),
                                  testing::registry(), options);
  ASSERT_TRUE(loaded.is_ok()) << loaded.status().to_string();
  const LoadedModel model = std::move(loaded).value();
  Context context = make_context(model);
  const auto run_down = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t n = from; n > to; --n) {  // the largest first: buffers never need to grow
      Aligned<std::int64_t> wanted({-n});
      ASSERT_TRUE(context.set_input(0, i64_view(wanted, {1})).is_ok());
      ASSERT_TRUE(context.run().is_ok());
      ASSERT_THAT(context.output(0).dims, ElementsAre(n));
    }
  };
  run_down(10'000, 0);
  EXPECT_LE(context.recorded_bytes(), options.max_recorded_bytes);
  EXPECT_LE(model.plan_bytes(), options.max_recorded_bytes);
}

TEST(Context, ContextsOfOneModelRunAtTheSameTime) {
  for (const std::string_view graph : {kAddRelu, kDynamic}) {
    const LoadedModel model = load(graph, "cpu", 2);
    const bool is_dynamic = graph == kDynamic;
    const auto work = [&](float start) {
      Context context = make_context(model);
      for (int i = 0; i < 500; ++i) {
        const float value = start + static_cast<float>(i);
        Aligned<float> x({value, value, value, value});
        const std::vector<std::int64_t> dims =
            is_dynamic ? std::vector<std::int64_t>{2, 2} : std::vector<std::int64_t>{4};
        ASSERT_TRUE(context.set_input(0, f32_view(x, dims)).is_ok());
        ASSERT_TRUE(context.run().is_ok());
        ASSERT_EQ(floats(context.output(0))[0], is_dynamic ? value + value : value + 1);
      }
    };
    std::thread other(work, 1000.0F);
    work(1.0F);
    other.join();
  }
}

TEST(Context, OutlivesTheModelItCameFrom) {
  auto context = make_context(load(kAddRelu));
  Aligned<float> x({1, 1, 1, 1});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
  EXPECT_TRUE(context.run().is_ok());
}

}  // namespace
}  // namespace sluice::exec
