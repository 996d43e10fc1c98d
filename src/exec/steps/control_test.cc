// Control flow in small graphs: results of each construct, and edge cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"
#include "ir/text/graph_text.h"
#include "ops/inference.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;
using testing::i64_view;
using testing::load;

terms::TensorView bool_view(Aligned<std::uint8_t>& values) {
  return {values.data(), 1, ir::ElementType::kBool, {}};
}

Context make_context(const LoadedModel& model) {
  auto context = model.create_context();
  EXPECT_TRUE(context.is_ok()) << context.status().to_string();
  return std::move(context).value();
}

void run(Context& context) {
  const Status status = context.run();
  ASSERT_TRUE(status.is_ok()) << status.to_string();
}

constexpr std::string_view kIf = R"(
subgraph @0 "main" {
  input %c : bool[]
  input %x : f32[N]
  [%s : f32[N]] = Add.14[%x, %x]
  [%y : f32[?]] = If.25[%c, %s] {captures = 1, else_branch = @2, then_branch = @1}
  [%z : f32[?]] = Neg.13[%y]
  output [%z, %y]
}
subgraph @1 "then" {
  input %s : f32[?]
  const %one : f32[] = [1.0]
  [%a : f32[?]] = Add.14[%s, %one]
  output [%a]
}
subgraph @2 "else" {
  input %s : f32[?]
  output [%s]
}
)";

TEST(If, RunsTheSelectedBranchOnItsCaptures) {
  Context context = make_context(load(kIf));
  Aligned<float> x({1, 2});
  Aligned<std::uint8_t> condition({1});
  ASSERT_TRUE(context.set_input(0, bool_view(condition)).is_ok());
  ASSERT_TRUE(context.set_input(1, f32_view(x, {2})).is_ok());
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(-3, -5));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(3, 5));
  *condition.data() = 0;
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(-2, -4));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(2, 4));
}

/// "A matrix is turned, anything else stays": its first branch contradicts this input.
constexpr std::string_view kOfAnotherRank = R"(
subgraph @0 "main" {
  input %c : bool[]
  input %x : f32[2]
  [%y : f32[2]] = If.25[%c, %x] {captures = 1, else_branch = @2, then_branch = @1}
  output [%y]
}
subgraph @1 "then" {
  input %in : f32[?]
  [%t : f32[?]] = Transpose.25[%in] {perm = [1, 0]}
  output [%t]
}
subgraph @2 "else" {
  input %in : f32[?]
  [%n : f32[?]] = Neg.13[%in]
  output [%n]
}
)";

TEST(If, RefusesABranchThatContradictsItsCapturesOnlyWhereItRuns) {
  Context context = make_context(load(kOfAnotherRank));
  Aligned<float> x({1, 2});
  Aligned<std::uint8_t> condition({0});
  ASSERT_TRUE(context.set_input(0, bool_view(condition)).is_ok());
  ASSERT_TRUE(context.set_input(1, f32_view(x, {2})).is_ok());
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(-1, -2));
  *condition.data() = 1;
  const Status refused = context.run();
  EXPECT_THAT(refused.message(), HasSubstr("Transpose"));
  *condition.data() = 0;
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(-1, -2));
}

TEST(If, RefusesTwoBranchesThatContradictTheirCaptures) {
  std::string both(kOfAnotherRank);
  both.replace(both.find("Neg.13[%in]"), 11, "Transpose.25[%in] {perm = [1, 0]}");
  auto graph = ir::parse_graph(both);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_THAT(ops::infer_types(*graph).message(), HasSubstr("Transpose"));
}

TEST(If, WritesIntoBoundOutputs) {
  Context context = make_context(load(kIf));
  Aligned<float> x({1, 2});
  Aligned<float> y({9, 9});
  Aligned<std::uint8_t> condition({1});
  ASSERT_TRUE(context.set_input(0, bool_view(condition)).is_ok());
  ASSERT_TRUE(context.set_input(1, f32_view(x, {2})).is_ok());
  ASSERT_TRUE(context.bind_output(1, y.data(), y.size_bytes()).is_ok());
  run(context);
  EXPECT_EQ(y.data()[1], 5);
  EXPECT_EQ(context.output(1).data, y.data());
}

/// Fibonacci: two values change places; each number is a scan output.
constexpr std::string_view kFibonacci = R"(
subgraph @0 "main" {
  input %n : i64[]
  const %zero : f32[1] = [0.0]
  const %one : f32[1] = [1.0]
  [%a : f32[1], %b : f32[1], %all : f32[M,1]] = Loop.25[%n, _, %zero, %one] {body = @1, captures = 0}
  output [%a, %b, %all]
}
subgraph @1 "body" {
  input %i : i64[]
  input %go : bool[]
  input %a : f32[1]
  input %b : f32[1]
  [%sum : f32[1]] = Add.14[%a, %b]
  output [%go, %b, %sum, %a]
}
)";

TEST(Loop, CarriesValuesAndStacksScanOutputs) {
  Context context = make_context(load(kFibonacci));
  Aligned<std::int64_t> n({10});
  ASSERT_TRUE(context.set_input(0, i64_view(n, {})).is_ok());
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(55));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(89));
  EXPECT_THAT(context.output(2).dims, ElementsAre(10, 1));
  EXPECT_THAT(floats(context.output(2)), ElementsAre(0, 1, 1, 2, 3, 5, 8, 13, 21, 34));
}

TEST(Loop, ZeroIterationsReturnInitialValuesAndEmptyScans) {
  Context context = make_context(load(kFibonacci));
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1}}) {
    Aligned<std::int64_t> n({count});
    ASSERT_TRUE(context.set_input(0, i64_view(n, {})).is_ok());
    run(context);
    EXPECT_THAT(floats(context.output(0)), ElementsAre(count == 1 ? 1 : 0));
    EXPECT_THAT(context.output(2).dims, ElementsAre(count == 1 ? 1 : 0, 1));
  }
}

TEST(Loop, ValuesMayGrowFromIterationToIteration) {
  Context context = make_context(load(testing::kGrowingLoop));
  for (const float limit : {3.0F, 0.0F, 5.0F}) {
    Aligned<float> given({limit});
    ASSERT_TRUE(context.set_input(0, f32_view(given, {})).is_ok());
    run(context);
    EXPECT_THAT(context.output(0).dims, ElementsAre(static_cast<std::int64_t>(limit) + 1));
    EXPECT_EQ(floats(context.output(0)).back(), limit);
  }
}

TEST(Loop, EndlessLoopIsStoppedAndNamed) {
  LoadOptions options;
  options.max_loop_iterations = 100;
  auto model = LoadedModel::load(testing::executable_of(testing::kGrowingLoop), testing::registry(),
                                 options);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  Context context = make_context(*model);
  Aligned<float> never({1e9F});
  ASSERT_TRUE(context.set_input(0, f32_view(never, {})).is_ok());
  const Status status = context.run();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("Loop node"));
  EXPECT_THAT(status.message(), HasSubstr("100 iterations"));
  Aligned<float> soon({1});
  ASSERT_TRUE(context.set_input(0, f32_view(soon, {})).is_ok());
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 1)) << "a failed run leaves nothing behind";
}

/// A loop of a static body inside an If inside a loop; reads what is two levels outside.
constexpr std::string_view kNested = R"(
subgraph @0 "main" {
  input %x : f32[2]
  const %three : i64[] = [3]
  [%y : f32[2]] = Loop.25[%three, _, %x, %x] {body = @1, captures = 1}
  output [%y]
}
subgraph @1 "outer" {
  input %i : i64[]
  input %go : bool[]
  input %v : f32[2]
  input %x : f32[2]
  const %one : i64[] = [1]
  [%is : bool[]] = Equal.19[%i, %one]
  [%next : f32[2]] = If.25[%is, %v, %x, %i] {captures = 3, else_branch = @3, then_branch = @2}
  output [%go, %next]
}
subgraph @2 "inner_loop" {
  input %v : f32[2]
  input %x : f32[2]
  input %i : i64[]
  const %four : i64[] = [4]
  [%r : f32[2]] = Loop.25[%four, _, %v, %x] {body = @4, captures = 1}
  output [%r]
}
subgraph @3 "double" {
  input %v : f32[2]
  input %x : f32[2]
  input %i : i64[]
  [%r : f32[2]] = Add.14[%v, %v]
  output [%r]
}
subgraph @4 "add" {
  input %i : i64[]
  input %go : bool[]
  input %v : f32[2]
  input %x : f32[2]
  [%r : f32[2]] = Add.14[%v, %x]
  output [%go, %r]
}
)";

TEST(Loop, NestedLoopsReadOuterValues) {
  Context context = make_context(load(kNested));
  Aligned<float> x({1, 10});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {2})).is_ok());
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(12, 120));  // ((1*2) + 4) * 2
}

constexpr std::string_view kScan = R"(
subgraph @0 "main" {
  input %start : f32[2]
  input %x : f32[2,N]
  [%last : f32[2], %all : f32[2,N]] = Scan.25[%start, %x] {body = @1, captures = 0, num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [-1], scan_output_directions = [1]}
  output [%last, %all]
}
subgraph @1 "body" {
  input %s : f32[2]
  input %e : f32[2]
  [%r : f32[2]] = Add.14[%s, %e]
  [%copy : f32[2]] = Identity.25[%r]
  output [%r, %copy]
}
)";

TEST(Scan, ScansAnyAxisInBothDirections) {
  Context context = make_context(load(kScan));
  Aligned<float> start({0, 100});
  Aligned<float> x({1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(context.set_input(0, f32_view(start, {2})).is_ok());
  ASSERT_TRUE(context.set_input(1, f32_view(x, {2, 3})).is_ok());
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(6, 115));
  EXPECT_THAT(context.output(1).dims, ElementsAre(2, 3));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(6, 5, 3, 115, 111, 106));
  ASSERT_TRUE(context.set_input(1, f32_view(x, {2, 3})).is_ok());
  Aligned<float> nothing({});
  ASSERT_TRUE(context.set_input(1, f32_view(nothing, {2, 0})).is_ok());
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 100));
  EXPECT_THAT(context.output(1).dims, ElementsAre(2, 0));
}

constexpr std::string_view kBatchedScan = R"(
subgraph @0 "main" {
  input %lengths : i64[2]
  input %start : f32[2,1]
  input %x : f32[2,3,1]
  [%last : f32[2,1], %all : f32[2,3,1]] = Scan.8[%lengths, %start, %x] {body = @1, captures = 0, num_scan_inputs = 1}
  output [%last, %all]
}
subgraph @1 "body" {
  input %s : f32[1]
  input %e : f32[1]
  [%r : f32[1]] = Add.14[%s, %e]
  [%copy : f32[1]] = Identity.25[%r]
  output [%r, %copy]
}
)";

TEST(Scan, ShorterSequencesOfABatchArePadded) {
  Context context = make_context(load(kBatchedScan));
  Aligned<std::int64_t> lengths({3, 1});
  Aligned<float> start({0, 10});
  Aligned<float> x({1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(context.set_input(0, i64_view(lengths, {2})).is_ok());
  ASSERT_TRUE(context.set_input(1, f32_view(start, {2, 1})).is_ok());
  ASSERT_TRUE(context.set_input(2, f32_view(x, {2, 3, 1})).is_ok());
  run(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(6, 14));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(1, 3, 6, 14, 0, 0));
}

TEST(Control, StructureIsCheckedOnLoading) {
  package::Executable executable = testing::executable_of(kFibonacci);
  ir::Subgraph& main = executable.graph.main();
  ir::Operation& loop = main.operation(main.order()[0]);
  loop.attributes.set("captures", std::int64_t{3});
  const auto model = LoadedModel::load(executable, testing::registry(), LoadOptions());
  EXPECT_EQ(model.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(model.status().message(), HasSubstr("a capture is missing"));
  loop.attributes.set("captures", std::int64_t{9});
  EXPECT_FALSE(LoadedModel::load(executable, testing::registry(), LoadOptions()).is_ok());
}

}  // namespace
}  // namespace sluice::exec
