// Runs of a context with a time limit, ended from another thread, and used by two threads. The
// model has two segments, whose kernels are the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "onnx_model.h"
#include "sluice/backend.h"
#include "sluice/compile.hpp"
#include "sluice/operators.hpp"
#include "support/eventually.h"

namespace sluice {
namespace {

using sluice::testing::eventually;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// What the kernels of a run do: `first` is called in the first segment, `num_second` counts runs
/// of the second.
std::function<void()> first;
std::atomic<int> num_second = 0;

std::optional<Error> copy(const plugin::Call& call) {
  std::ranges::copy(call.input_elements<float>(0), call.output_elements<float>(0).begin());
  return std::nullopt;
}

void register_operators() {
  const auto add = [](const char* name, auto run) {
    Operator op;
    op.domain = "com.example";
    op.name = name;
    op.has_effects = true;
    op.run = run;
    const auto error = register_operator(std::move(op));
    ASSERT_FALSE(error) << error->message;
  };
  add("First", [](const plugin::Call& call) {
    if (first) first();
    return copy(call);
  });
  add("Second", [](const plugin::Call& call) {
    ++num_second;
    return copy(call);
  });
}

class ContextRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_operators();
    const auto onnx = testing::onnx_model(
        {{"com.example", "First", {"x"}, {"a"}}, {"com.example", "Second", {"a"}, {"y"}}},
        {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}});
    auto compiled = compile_bytes(onnx, {.options = {"--cut", "y"}});
    ASSERT_TRUE(compiled) << compiled.error().message;
    const auto bytes = *compiled->bytes();
    package.assign(bytes.begin(), bytes.end());
  }

  ContextRun() : model_(std::move(*Model::open_copy(package))), context_(*model_.create_context()) {
    first = nullptr;
    num_second = 0;
    EXPECT_FALSE(context_.set_input("x", x_, {3}));
  }

  static inline std::vector<std::byte> package;
  const std::vector<float> x_ = {1, 2, 3};
  Model model_;
  Context context_;
};

TEST_F(ContextRun, CancelOfAnotherThreadEndsItBeforeTheNextSegment) {
  std::atomic<bool> has_started = false;
  std::atomic<bool> is_cancelled = false;
  first = [&] {
    has_started = true;
    is_cancelled.wait(false);
  };
  std::optional<Error> ended;
  std::thread runs([&] {
    ended = context_.run();
    has_started = true;
    has_started.notify_all();
  });
  EXPECT_TRUE(eventually([&] { return has_started.load(); }));
  EXPECT_FALSE(context_.cancel());
  EXPECT_FALSE(context_.cancel()) << "a second time is no error";
  is_cancelled = true;
  is_cancelled.notify_all();
  runs.join();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, Code::kCancelled);
  EXPECT_EQ(num_second, 0);
  first = nullptr;
  EXPECT_FALSE(context_.run()) << "the context runs again";
  EXPECT_EQ(context_.output<float>("y")->values[2], 3);
}

TEST_F(ContextRun, CancelWithoutRunIsRefused) {
  const auto error = context_.cancel();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::kFailedPrecondition);
  EXPECT_FALSE(context_.run()) << "a later run is not affected";
  EXPECT_EQ(context_.cancel()->code, Code::kFailedPrecondition);
}

TEST_F(ContextRun, TimeLimitEndsItBeforeTheNextSegment) {
  first = [] { sluice::testing::let_pass(sluice::testing::from_now_ns(milliseconds(30))); };
  const auto ended = context_.run(milliseconds(20));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, Code::kDeadlineExceeded);
  EXPECT_EQ(num_second, 0);
  first = nullptr;
  EXPECT_FALSE(context_.run(std::chrono::hours(1)));
  EXPECT_FALSE(context_.run(std::chrono::nanoseconds::max()));
  EXPECT_EQ(context_.run(milliseconds(-1))->code, Code::kInvalidArgument);
}

TEST_F(ContextRun, SecondThreadIsRefusedWhileItRuns) {
  std::atomic<bool> has_started = false;
  std::atomic<bool> may_end = false;
  first = [&] {
    has_started = true;
    may_end.wait(false);
  };
  std::thread runs([&] { EXPECT_FALSE(context_.run()); });
  EXPECT_TRUE(eventually([&] { return has_started.load(); }));
  const auto second = context_.run();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->code, Code::kFailedPrecondition);
  EXPECT_THAT(second->message, HasSubstr("another call uses the context"));
  EXPECT_EQ(context_.set_input("x", x_, {3})->code, Code::kFailedPrecondition);
  EXPECT_EQ(context_.bind_output<float>("y", {})->code, Code::kFailedPrecondition);
  EXPECT_EQ(context_.output<float>("y").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(context_.take_output<float>("y").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(context_.output_length("y").error().code, Code::kFailedPrecondition);
  may_end = true;
  may_end.notify_all();
  runs.join();
  EXPECT_EQ(num_second, 1);
}

TEST_F(ContextRun, KernelThatRunsItsOwnContextIsRefused) {
  std::optional<Error> inner;
  first = [&] { inner = context_.run(); };
  EXPECT_FALSE(context_.run());
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->code, Code::kFailedPrecondition);
}

// Cancels race with runs: each run either succeeds or was cancelled, and the last one succeeds.
TEST_F(ContextRun, CancelsRaceWithRuns) {
  std::atomic<bool> is_over = false;
  std::thread cancels([&] {
    while (!is_over) (void)context_.cancel();
  });
  int num_cancelled = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto error = context_.run();
    if (error) {
      ASSERT_EQ(error->code, Code::kCancelled) << error->message;
      ++num_cancelled;
    }
  }
  is_over = true;
  cancels.join();
  EXPECT_FALSE(context_.run());
  EXPECT_EQ(context_.output<float>("y")->values[0], 1);
  RecordProperty("num_cancelled", num_cancelled);
}

// Calls race on one context: each succeeds or is refused, nothing else.
TEST_F(ContextRun, ThreadsRaceOnOneContext) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        for (const auto& error : {context_.set_input("x", x_, {3}), context_.run()}) {
          EXPECT_TRUE(!error || error->code == Code::kFailedPrecondition) << error->message;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(context_.run());
  EXPECT_EQ(context_.output<float>("y")->values[2], 3);
}

TEST(ContextRunInC, BadOptionsAreRefused) {
  EXPECT_EQ(sluice_context_run_with(nullptr, nullptr), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_context_cancel(nullptr), SLUICE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sluice
