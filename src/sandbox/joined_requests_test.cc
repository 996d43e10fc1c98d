// Functions whose waiting requests are joined, on the real cpu plug-in and real threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "sandbox/function_host.h"
#include "support/eventually.h"

namespace sluice::sandbox {
namespace {

using runtime::Reply;
using sluice::testing::eventually;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::string_view kRelu = R"(
subgraph @0 "main" {
  input %x : f32[N,M]
  [%y : f32[N,M]] = Relu.14[%x]
  output [%y]
}
)";

/// Rows of a table; an index outside it fails the run.
constexpr std::string_view kGather = R"(
subgraph @0 "main" {
  input %i : i64[N]
  const %t : f32[3] = [10.0, 20.0, 30.0]
  [%y : f32[N]] = Gather.13[%t, %i] {axis = 0}
  output [%y]
}
)";

class JoinedRowsTest : public ::testing::Test {
 protected:
  /// A request with the reply that it got, and how often.
  struct Asked {
    std::uint64_t id = 0;
    Reply reply;
    std::atomic<int> num_replies = 0;
    std::vector<float> bound;
  };

  JoinedRowsTest()
      : engine_(runtime::testing::registry(), drivers_, {runtime::testing::pretended_cpu_map(1)}),
        host_(engine_, {}) {}

  void deploy(std::string_view graph, const terms::FunctionOptions& options) {
    const auto load = runtime::testing::load_of(runtime::testing::model_of(graph), "f");
    const auto handle = host_.deploy(load, options);
    ASSERT_TRUE(handle.is_ok()) << handle.status().to_string();
    handle_ = *handle;
    sink_ = host_.sink(handle_).value();
  }
  terms::FunctionState state() { return host_.state(handle_).value(); }

  template <typename T>
  static runtime::Request request(const std::vector<T>& values, std::vector<std::int64_t> dims) {
    auto memory = std::make_shared<std::vector<T>>(values);
    runtime::Request request;
    const auto size = static_cast<std::int64_t>(values.size() * sizeof(T));
    const auto element = std::is_same_v<T, float> ? ir::ElementType::kF32 : ir::ElementType::kI64;
    request.inputs = {{memory->data(), size, element, std::move(dims)}};
    request.memory_owner = memory;
    return request;
  }
  Asked& ask(runtime::Request request) {
    Asked& asked = asked_.emplace_back();
    request.on_done = [&asked](Reply reply) {
      asked.reply = std::move(reply);
      ++asked.num_replies;
    };
    const auto id = sink_->submit(request);
    EXPECT_TRUE(id.is_ok()) << id.status().to_string();
    asked.id = id.is_ok() ? *id : 0;
    return asked;
  }

  /// The lane stands still until `release`: a request's on_done holds it.
  void hold(runtime::Request request) {
    request.on_done = [this](const Reply& /*reply*/) {
      is_held_ = true;
      is_held_.notify_all();
      may_go_on_.wait(false);
    };
    ASSERT_TRUE(sink_->submit(request).is_ok());
    is_held_.wait(false);
  }
  void release() {
    may_go_on_ = true;
    may_go_on_.notify_all();
  }
  void finish() { host_.shutdown(kNoDeadline); }

  runtime::ThreadDrivers drivers_;
  runtime::Engine engine_;
  FunctionHost host_;
  terms::ModelHandle handle_{0};
  std::shared_ptr<runtime::RequestSink> sink_;
  std::deque<Asked> asked_;
  std::atomic<bool> is_held_ = false;
  std::atomic<bool> may_go_on_ = false;
};

TEST_F(JoinedRowsTest, WaitingRequestsRunAsOneAndEachGetsItsRows) {
  deploy(kRelu, {.batch_rows = 8});
  hold(request<float>({0, 0}, {1, 2}));
  for (int i = 0; i < 6; ++i) {
    const auto value = static_cast<float>(i);
    ask(i % 2 == 0 ? request<float>({value, -1}, {1, 2})
                   : request<float>({value, -1, value, -1}, {2, 2}));
  }
  release();
  EXPECT_TRUE(eventually([&] { return asked_.back().num_replies != 0; }));
  EXPECT_EQ(state().num_joined, 5);
  finish();
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const Asked& asked = asked_[i];
    ASSERT_EQ(asked.num_replies, 1);
    ASSERT_EQ(asked.reply.code, RuntimeCode::kOk);
    const auto& view = asked.reply.outputs.at(0).view;
    EXPECT_EQ(view.dims, (std::vector<std::int64_t>{i % 2 == 0 ? 1 : 2, 2}));
    const auto values = runtime::testing::floats(asked.reply.outputs[0]);
    for (std::size_t k = 0; k < values.size(); ++k) {
      EXPECT_EQ(values[k], k % 2 == 0 ? static_cast<float>(i) : 0);
    }
  }
  // Rows 1, 2, 1, 2, 1 are seven of eight; the two of the last request do not fit.
  const auto owner = [&](std::size_t i) { return asked_[i].reply.outputs[0].owner; };
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(owner(i), owner(0)) << "one memory, no copy";
}

TEST_F(JoinedRowsTest, StatisticsCountRequestsAndNotRuns) {
  deploy(kRelu, {.batch_rows = 16});
  hold(request<float>({0}, {1, 1}));
  for (int i = 0; i < 9; ++i) ask(request<float>({1}, {1, 1}));
  release();
  EXPECT_TRUE(eventually([&] { return asked_.back().num_replies != 0; }));
  EXPECT_EQ(state().num_joined, 9);
  EXPECT_EQ(host_.statistics(handle_)->num_answered(), 10);
}

TEST_F(JoinedRowsTest, OtherShapesAreNotJoinedAndNoRequestIsOvertaken) {
  deploy(kRelu, {.batch_rows = 8});
  hold(request<float>({0}, {1, 1}));
  const std::vector<std::int64_t> widths = {1, 1, 3, 3, 3, 1, 20};
  for (const std::int64_t width : widths) {
    ask(request<float>(std::vector<float>(static_cast<std::size_t>(width), 2), {1, width}));
  }
  ask(request<float>(std::vector<float>(9, 2), {9, 1}));  // more rows than a run
  ask(request<float>({1}, {1}));                          // of another rank
  release();
  EXPECT_TRUE(eventually([&] { return asked_.back().num_replies != 0; }));
  EXPECT_EQ(state().num_joined, 5);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    ASSERT_EQ(asked_[i].reply.code, RuntimeCode::kOk);
    EXPECT_THAT(runtime::testing::floats(asked_[i].reply.outputs[0]), Each(2.0F));
  }
  EXPECT_EQ(asked_[7].reply.outputs.at(0).view.dims[0], 9);
  EXPECT_EQ(asked_[8].reply.code, RuntimeCode::kBadInput);
}

TEST_F(JoinedRowsTest, RequestThatFailsAJoinedRunFailsAlone) {
  deploy(kGather, {.batch_rows = 8});
  hold(request<std::int64_t>({0}, {1}));
  for (const std::int64_t index : {0, 1, 99, 2}) ask(request<std::int64_t>({index}, {1}));
  release();
  EXPECT_TRUE(eventually([&] { return asked_.back().num_replies != 0; }));
  finish();
  for (const std::size_t good : {0, 1, 3}) {
    ASSERT_EQ(asked_[good].reply.code, RuntimeCode::kOk) << good;
  }
  EXPECT_NE(asked_[2].reply.code, RuntimeCode::kOk);
  EXPECT_EQ(runtime::testing::floats(asked_[3].reply.outputs[0]), (std::vector<float>{30}));
  for (const Asked& asked : asked_) EXPECT_EQ(asked.num_replies, 1);
}

TEST_F(JoinedRowsTest, OutputsGoToTheMemoryOfEachRequest) {
  deploy(kRelu, {.batch_rows = 8});
  hold(request<float>({0}, {1, 1}));
  std::vector<float> memory(4);
  for (std::size_t i = 0; i < 4; ++i) {
    auto one = request<float>({static_cast<float>(i)}, {1, 1});
    one.outputs = {{&memory[i], i == 2 ? 1 : 4}};
    ask(std::move(one));
  }
  release();
  EXPECT_TRUE(eventually([&] { return asked_.back().num_replies != 0; }));
  finish();
  EXPECT_EQ(memory, (std::vector<float>{0, 1, 0, 3}));
  EXPECT_EQ(asked_[2].reply.code, RuntimeCode::kOutOfResources);
  EXPECT_EQ(asked_[3].reply.outputs[0].view.data, &memory[3]);
}

TEST_F(JoinedRowsTest, CancelsAndDeadlinesAmongJoinedRequestsAnswerEachOnce) {
  deploy(kRelu, {.batch_rows = 16});
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::atomic<int> num_answers = 0;
  std::atomic<int> num_wrong = 0;
  std::atomic<int> num_accepted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto value = static_cast<float>(t * kEach + i);
        auto one = request<float>(std::vector<float>(512, value), {1, 512});
        if (i % 7 == 3) one.deadline_ns = host_.clock().now_ns() + 50'000;
        one.on_done = [&, value](const Reply& reply) {
          const bool is_ended =
              reply.code == RuntimeCode::kCancelled || reply.code == RuntimeCode::kTimeout;
          const bool is_right =
              reply.code == RuntimeCode::kOk &&
              runtime::testing::floats(reply.outputs[0]) == std::vector<float>(512, value);
          if (!is_ended && !is_right) ++num_wrong;
          ++num_answers;
        };
        const auto id = sink_->submit(one);
        if (!id.is_ok()) continue;
        ++num_accepted;
        if (i % 5 == 1) sink_->cancel(*id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  finish();
  EXPECT_EQ(num_answers, num_accepted);
  EXPECT_EQ(num_wrong, 0);
}

TEST_F(JoinedRowsTest, ModelWithoutASymbolicFirstDimensionIsRefusedAtItsDeployment) {
  const auto refusal = [&](std::string_view graph) {
    const auto load = runtime::testing::load_of(runtime::testing::model_of(graph), "f");
    EXPECT_TRUE(host_.deploy(load, {}).is_ok());
    return host_.deploy(load, {.batch_rows = 8}).status();
  };
  const Status fixed = refusal(R"(
subgraph @0 "main" {
  input %x : f32[4]
  [%y : f32[4]] = Relu.14[%x]
  output [%y]
}
)");
  EXPECT_EQ(terms::runtime_code_of(fixed), RuntimeCode::kInvalid);
  EXPECT_THAT(fixed.message(), HasSubstr("was compiled for 4 rows"));
  const Status sum = refusal(R"(
subgraph @0 "main" {
  input %x : f32[N]
  [%y : f32[1]] = ReduceMax.13[%x] {axes = [0], keepdims = 1}
  output [%y]
}
)");
  EXPECT_THAT(sum.message(), HasSubstr("output \"y\" is f32[1]"));
}

}  // namespace
}  // namespace sluice::sandbox
