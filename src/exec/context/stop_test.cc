// A checkpoint ends a run within a kernel. Each model multiplies squares of the size that its input
// asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;

struct Operation {
  const char* name;
  const char* text;
};

std::string graph_of(const Operation& operation) {
  return fmt::format(R"(
subgraph @0 "main" {{
  input %n : i64[2]
  const %half : f32[1] = [0.5]
  [%x : f32[?]] = Expand.13[%half, %n]
{}
  output [%y]
}}
)",
                     operation.text);
}

constexpr Operation kProducts[] = {
    {"MatMul", "  [%y : f32[?]] = MatMul.13[%x, %x]"},
    {"Gemm", "  [%y : f32[?]] = Gemm.13[%x, %x] {transB = 1}"},
    {"Chain", "  [%p : f32[?]] = MatMul.13[%x, %x]\n  [%y : f32[?]] = MatMul.13[%p, %x]"},
};

class StopTest : public ::testing::Test {
 protected:
  void load(const Operation& operation, std::string_view backend,
            ExecutorKind executor = ExecutorKind::kLinear) {
    LoadOptions options;
    options.executor = executor;
    auto model = LoadedModel::load(testing::executable_of(graph_of(operation), backend),
                                   testing::registry(), options);
    ASSERT_TRUE(model.is_ok()) << operation.name << model.status().to_string();
    model_.emplace(std::move(*model));
    auto context = model_->create_context();
    ASSERT_TRUE(context.is_ok()) << operation.name << context.status().to_string();
    context_.emplace(std::move(*context));
  }

  /// Ends the run at the call `most` of its checkpoint; returns the calls.
  Status run(std::int64_t size, std::int64_t most, std::int64_t* calls) {
    Aligned<std::int64_t> n({size, size});
    EXPECT_TRUE(context_->set_input(0, testing::i64_view(n, {2})).is_ok());
    *calls = 0;
    context_->set_checkpoint([calls, most] {
      return ++*calls < most ? ok_status() : make_error(Code::kCancelled, "enough");
    });
    Status status = context_->run();
    context_->set_checkpoint({});
    return status;
  }

  /// A small square takes a number of calls beside its kernel; one call more is within it.
  void expect_stopped(const Operation& operation, std::int64_t size) {
    std::int64_t outside = 0;
    const Status small = run(2, 1000, &outside);
    ASSERT_TRUE(small.is_ok()) << operation.name << small.to_string();
    std::int64_t calls = 0;
    const Status large = run(size, outside + 1, &calls);
    EXPECT_EQ(large.code(), Code::kCancelled) << operation.name << large.to_string();
    EXPECT_THAT(large.message(), ::testing::HasSubstr("enough")) << operation.name;
    // Once asked and answered, nothing is asked any more, and the next run is whole.
    EXPECT_EQ(calls, outside + 1) << operation.name;
    EXPECT_TRUE(run(2, 1000, &calls).is_ok()) << operation.name;
  }

  std::optional<LoadedModel> model_;
  std::optional<Context> context_;
};

TEST_F(StopTest, FastProductsEndBetweenTiles) {
  for (const ExecutorKind executor :
       {ExecutorKind::kLinear, ExecutorKind::kDataflow, ExecutorKind::kParallel}) {
    for (const Operation& operation : kProducts) {
      load(operation, "cpu", executor);
      expect_stopped(operation, 1500);
    }
  }
}

}  // namespace
}  // namespace sluice::exec
