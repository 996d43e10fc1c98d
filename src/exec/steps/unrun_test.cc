// Loops and scans without an iteration: their stacked results are empty and of known sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::f32_view;
using testing::floats;
using testing::i64_view;
using testing::load;

class Unrun : public ::testing::Test {
 protected:
  void open(std::string_view text) {
    model_.emplace(load(text));
    auto context = model_->create_context();
    ASSERT_TRUE(context.is_ok()) << context.status().to_string();
    context_.emplace(std::move(context).value());
  }
  std::vector<std::int64_t> dims_after_run(std::size_t output) {
    const Status status = context_->run();
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    return context_->output(output).dims;
  }

  std::optional<LoadedModel> model_;
  std::optional<Context> context_;
};

/// Stacks what the text of an operation makes of %v and of the capture %c.
std::string loop_of(std::string_view operations, std::string_view capture = "f32[K]") {
  return fmt::format(R"(
subgraph @0 "main" {{
  input %n : i64[]
  input %x : f32[N,3]
  input %k : {}
  [%last : f32[N,3], %all : f32[?]] = Loop.25[%n, _, %x, %k] {{body = @1, captures = 1}}
  output [%last, %all]
}}
subgraph @1 "body" {{
  input %i : i64[]
  input %go : bool[]
  input %v : f32[N,3]
  input %c : {}
  [%next : f32[N,3]] = Neg.13[%v]
{}
  output [%go, %next, %item]
}}
)",
                     capture, capture, operations);
}

TEST_F(Unrun, LoopItemsHaveSizesOfItsInputs) {
  open(loop_of("  [%item : f32[?]] = Transpose.25[%v] {perm = [1, 0]}"));
  Aligned<float> x({1, 2, 3, 4, 5, 6});
  Aligned<float> k({7});
  for (const std::int64_t times : {0, 2, 0, -1}) {
    Aligned<std::int64_t> n({times});
    ASSERT_TRUE(context_->set_input(0, i64_view(n, {})).is_ok());
    ASSERT_TRUE(context_->set_input(1, f32_view(x, {2, 3})).is_ok());
    ASSERT_TRUE(context_->set_input(2, f32_view(k, {1})).is_ok());
    EXPECT_THAT(dims_after_run(1), ElementsAre(times > 0 ? 2 : 0, 3, 2)) << times;
    EXPECT_THAT(floats(context_->output(0)), ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST_F(Unrun, LoopItemsHaveSizesOfCapturedNumbers) {
  open(loop_of("  const %one : f32[] = [1.0]\n  [%item : f32[?]] = Expand.13[%one, %c]", "i64[2]"));
  Aligned<std::int64_t> n({0});
  Aligned<float> x({1, 2, 3});
  Aligned<std::int64_t> sizes({4, 5});
  ASSERT_TRUE(context_->set_input(0, i64_view(n, {})).is_ok());
  ASSERT_TRUE(context_->set_input(1, f32_view(x, {1, 3})).is_ok());
  ASSERT_TRUE(context_->set_input(2, i64_view(sizes, {2})).is_ok());
  EXPECT_THAT(dims_after_run(1), ElementsAre(0, 4, 5));
}

TEST_F(Unrun, SizeThatOnlyARunKnowsIsZero) {
  open(loop_of("  [%at : i64[?]] = NonZero.13[%v]\n  [%item : f32[?]] = Cast.25[%at] {to = 1}"));
  Aligned<std::int64_t> n({0});
  Aligned<float> x({1, 0, 3});
  Aligned<float> k({7});
  ASSERT_TRUE(context_->set_input(0, i64_view(n, {})).is_ok());
  ASSERT_TRUE(context_->set_input(1, f32_view(x, {1, 3})).is_ok());
  ASSERT_TRUE(context_->set_input(2, f32_view(k, {1})).is_ok());
  EXPECT_THAT(dims_after_run(1), ElementsAre(0, 2, 0));
}

TEST_F(Unrun, BranchesAndLoopsInsideAreLookedInto) {
  open(loop_of("  [%item : f32[?]] = If.25[%go, %v, %c] {captures = 2, else_branch = @3, "
               "then_branch = @2}") +
       R"(
subgraph @2 "then" {
  input %v : f32[?]
  input %c : f32[?]
  [%a : f32[?]] = Concat.13[%v, %v] {axis = 0}
  output [%a]
}
subgraph @3 "else" {
  input %v : f32[?]
  input %c : f32[?]
  const %two : i64[] = [2]
  [%o : f32[?], %s : f32[?]] = Loop.25[%two, _, %v] {body = @4, captures = 0}
  [%b : f32[?]] = Concat.13[%o, %o] {axis = 0}
  output [%b]
}
subgraph @4 "inner" {
  input %i : i64[]
  input %go : bool[]
  input %v : f32[?]
  [%w : f32[?]] = Neg.13[%v]
  [%r : f32[?]] = Neg.13[%w]
  output [%go, %w, %r]
}
)");
  Aligned<std::int64_t> n({0});
  Aligned<float> x({1, 2, 3, 4, 5, 6});
  Aligned<float> k({7});
  ASSERT_TRUE(context_->set_input(0, i64_view(n, {})).is_ok());
  ASSERT_TRUE(context_->set_input(1, f32_view(x, {2, 3})).is_ok());
  ASSERT_TRUE(context_->set_input(2, f32_view(k, {1})).is_ok());
  EXPECT_THAT(dims_after_run(1), ElementsAre(0, 4, 3));
}

TEST_F(Unrun, ScanItemsHaveSizesOfStatesAndSlices) {
  open(R"(
subgraph @0 "main" {
  input %start : f32[N]
  input %x : f32[K,T]
  [%last : f32[N], %outer : f32[?]] = Scan.25[%start, %x] {body = @1, captures = 0, num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1]}
  output [%last, %outer]
}
subgraph @1 "body" {
  input %s : f32[N]
  input %e : f32[K]
  const %axis : i64[1] = [1]
  [%r : f32[N]] = Neg.13[%s]
  [%column : f32[?]] = Unsqueeze.25[%s, %axis]
  [%product : f32[?]] = Mul.14[%column, %e]
  output [%r, %product]
}
)");
  Aligned<float> start({1, 2});
  Aligned<float> one({1, 2, 3});
  Aligned<float> none({});
  for (const std::int64_t steps : {0, 1, 0}) {
    ASSERT_TRUE(context_->set_input(0, f32_view(start, {2})).is_ok());
    ASSERT_TRUE(context_->set_input(1, f32_view(steps == 0 ? none : one, {3, steps})).is_ok());
    EXPECT_THAT(dims_after_run(1), ElementsAre(2, steps, 3)) << steps;
  }
}

TEST_F(Unrun, ScanOfABatchPadsARowWithoutElements) {
  open(R"(
subgraph @0 "main" {
  input %lengths : i64[B]
  input %start : f32[B,N]
  input %x : f32[B,T,N]
  [%last : f32[B,N], %all : f32[?]] = Scan.8[%lengths, %start, %x] {body = @1, captures = 0, num_scan_inputs = 1}
  output [%last, %all]
}
subgraph @1 "body" {
  input %s : f32[N]
  input %e : f32[N]
  [%r : f32[N]] = Add.14[%s, %e]
  [%twice : f32[?]] = Concat.13[%r, %r] {axis = 0}
  output [%r, %twice]
}
)");
  Aligned<std::int64_t> lengths({0, 1});
  Aligned<float> start({0, 10});
  Aligned<float> x({1, 2, 3, 4});
  ASSERT_TRUE(context_->set_input(0, i64_view(lengths, {2})).is_ok());
  ASSERT_TRUE(context_->set_input(1, f32_view(start, {2, 1})).is_ok());
  ASSERT_TRUE(context_->set_input(2, f32_view(x, {2, 2, 1})).is_ok());
  EXPECT_THAT(dims_after_run(1), ElementsAre(2, 2, 2));
  EXPECT_THAT(floats(context_->output(1)), ElementsAre(0, 0, 0, 0, 13, 13, 0, 0));
  Aligned<std::int64_t> none({});
  Aligned<float> empty({});
  ASSERT_TRUE(context_->set_input(0, i64_view(none, {0})).is_ok());
  ASSERT_TRUE(context_->set_input(1, f32_view(empty, {0, 1})).is_ok());
  ASSERT_TRUE(context_->set_input(2, f32_view(empty, {0, 2, 1})).is_ok());
  EXPECT_THAT(dims_after_run(1), ElementsAre(0, 2, 2));
}

}  // namespace
}  // namespace sluice::exec
