// Graphs of functions on the real cpu plug-in and real threads.
#include "sandbox/graph/graph_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "support/eventually.h"

namespace sluice::sandbox {
namespace {

using runtime::Reply;
using runtime::testing::floats;
using runtime::testing::request_of;
using sluice::testing::eventually;
using terms::ModelHandle;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr OwnerId kOwner{7};

/// Answers y = x at once, with a kept reply if it is told so.
class Told final : public runtime::RequestSink {
 public:
  Told() {
    signature_.inputs.push_back({"x", ir::parse_type("f32[4]").value(), -1});
    signature_.outputs.push_back({"y", ir::parse_type("f32[4]").value(), -1});
  }
  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 1; }
  Clock& clock() const override { return system_clock(); }
  Result<std::uint64_t> submit(runtime::Request& request) override {
    Reply reply;
    reply.outputs.push_back({request.inputs.at(0), nullptr});
    reply.is_kept = is_kept;
    std::exchange(request.on_done, nullptr)(std::move(reply));
    return 1;
  }
  bool cancel(std::uint64_t /*id*/) override { return false; }
  bool wait(const std::function<bool()>& is_done, std::int64_t /*deadline_ns*/) override {
    return is_done();
  }
  void tell_waiters() override {}

  bool is_full() const override { return has_no_place; }

  bool is_kept = false;
  bool has_no_place = false;

 private:
  terms::Signature signature_;
};

/// Functions compute relu(x + [1, -2, 3, -4]).
class GraphHostTest : public ::testing::Test {
 protected:
  GraphHostTest()
      : engine_(runtime::testing::registry(), drivers_, {runtime::testing::pretended_cpu_map(4)}),
        functions_(engine_, {}),
        graphs_(functions_, &exchange_) {
    exchange_.add(kOwner);
    for (const char* name : {"a", "b", "c"}) {
      handles_.push_back(
          functions_.deploy(runtime::testing::load_of(executable_, name), {}).value());
    }
  }

  Result<ModelHandle> deploy(const std::vector<std::string>& edges,
                             const std::vector<std::string>& outputs = {}) {
    terms::GraphRequest request;
    request.name = "g";
    request.nodes = {{"a", handles_[0]}, {"b", handles_[1]}, {"c", handles_[2]}};
    for (const std::string& edge : edges)
      request.edges.push_back(terms::GraphEdge::parse(edge).value());
    for (const std::string& port : outputs) {
      request.outputs.push_back(terms::GraphPort::parse(port).value());
    }
    return graphs_.deploy(std::move(request));
  }
  Reply infer(ModelHandle graph, float value) {
    return runtime::infer(**graphs_.sink(graph), request_of(value));
  }
  Reply infer_of_owner(ModelHandle graph) {
    runtime::Request request = request_of(2);
    request.exchange_owner = static_cast<std::uint64_t>(kOwner);
    return runtime::infer(**graphs_.sink(graph), std::move(request));
  }

  runtime::ThreadDrivers drivers_;
  runtime::Engine engine_;
  const std::shared_ptr<const package::Executable> executable_ = runtime::testing::add_relu();
  Exchange exchange_{system_clock(), {}};
  FunctionHost functions_;
  GraphHost graphs_;
  std::vector<ModelHandle> handles_;
};

TEST_F(GraphHostTest, FunctionsRunInOrderAndAnInnerTensorMayBeAnOutput) {
  const auto graph = deploy({"a.y=b.x", "b.y=c.x"}, {"a.y"});
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const Reply reply = infer(*graph, 2);
  ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
  ASSERT_EQ(reply.outputs.size(), 2U);
  EXPECT_THAT(floats(reply.outputs[0]), ElementsAre(3, 0, 5, 0));
  EXPECT_THAT(floats(reply.outputs[1]), ElementsAre(5, 0, 11, 0));
  EXPECT_EQ(graphs_.statistics(*graph)->num_answered(), 1);
}

TEST_F(GraphHostTest, WhoeverHasAnAnswerFindsItCounted) {
  const auto graph = deploy({"a.y=b.x", "b.y=c.x"});
  std::atomic<std::int64_t> num_counted = -1;
  runtime::Request request = request_of(2);
  request.on_done = [&](const Reply& /*reply*/) {
    num_counted = graphs_.statistics(*graph)->num_answered();
  };
  ASSERT_TRUE((*graphs_.sink(*graph))->submit(request).is_ok());
  EXPECT_TRUE(eventually([&] { return num_counted >= 0; }));
  EXPECT_EQ(num_counted, 1);
}

TEST_F(GraphHostTest, OneOutputFeedsSeveralFunctions) {
  const auto graph = deploy({"a.y=b.x", "a.y=c.x"});
  const Reply reply = infer(*graph, 2);
  ASSERT_EQ(reply.outputs.size(), 2U) << reply.errors.to_status().to_string();
  EXPECT_THAT(floats(reply.outputs[0]), ElementsAre(4, 0, 8, 0));
  EXPECT_THAT(floats(reply.outputs[1]), ElementsAre(4, 0, 8, 0));
}

TEST_F(GraphHostTest, DetailCountsTheSegmentsOfAllFunctions) {
  const auto graph = deploy({"a.y=b.x", "b.y=c.x"});
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  runtime::Request request = request_of(2);
  request.wants_detail = true;
  const Reply reply = runtime::infer(**graphs_.sink(*graph), std::move(request));
  ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
  std::vector<std::uint32_t> segments;
  std::int64_t copy_out_ns = 0;
  for (const terms::StageTime& stage : reply.detail.stages) {
    if (stage.kind == terms::StageKind::kCompute) segments.push_back(stage.segment);
    if (stage.kind == terms::StageKind::kCopyOut) copy_out_ns += stage.duration_ns;
  }
  EXPECT_THAT(segments, ElementsAre(0, 1, 2));
  EXPECT_EQ(reply.detail.backends.size(), segments.size());
  EXPECT_EQ(reply.detail.copy_out_ns, copy_out_ns);
}

/// Otherwise its requests would say what they waited for, and how long the models take.
TEST_F(GraphHostTest, ReplyIsAKeptOneIfThoseOfAllStepsAre) {
  const auto a = std::make_shared<Told>();
  const auto b = std::make_shared<Told>();
  terms::GraphRequest request;
  request.name = "g";
  request.nodes = {{"a", {}}, {"b", {}}};
  request.edges.push_back(terms::GraphEdge::parse("a.y=b.x").value());
  const ModelHandle graph = graphs_.add(request, plan_graph(request, {a, b}).value()).value();
  for (const bool is_first : {false, true}) {
    for (const bool is_second : {false, true}) {
      a->is_kept = is_first;
      b->is_kept = is_second;
      const Reply reply = infer(graph, 2);
      EXPECT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
      EXPECT_EQ(reply.is_kept, is_first && is_second);
    }
  }
}

TEST_F(GraphHostTest, GraphIsFullWhileItsFirstFunctionIs) {
  const auto a = std::make_shared<Told>();
  const auto b = std::make_shared<Told>();
  terms::GraphRequest request;
  request.name = "g";
  request.nodes = {{"a", {}}, {"b", {}}};
  request.edges.push_back(terms::GraphEdge::parse("a.y=b.x").value());
  const ModelHandle graph = graphs_.add(request, plan_graph(request, {a, b}).value()).value();
  const auto sink = graphs_.sink(graph).value();
  b->has_no_place = true;
  EXPECT_FALSE(sink->is_full()) << "the second answers for itself";
  a->has_no_place = true;
  EXPECT_TRUE(sink->is_full());
}

TEST_F(GraphHostTest, CallersMemoryHasTheOutputs) {
  const auto graph = deploy({"a.y=b.x", "b.y=c.x"}, {"a.y"});
  std::vector<float> y(4);
  runtime::Request request = request_of(2);
  request.outputs = {{}, {y.data(), 16}};
  const Reply reply = runtime::infer(**graphs_.sink(*graph), std::move(request));
  ASSERT_EQ(reply.code, RuntimeCode::kOk);
  EXPECT_EQ(reply.outputs[1].view.data, y.data());
  EXPECT_THAT(y, ElementsAre(5, 0, 11, 0));
  runtime::Request small = request_of(2);
  small.outputs = {{}, {y.data(), 8}};
  EXPECT_EQ(runtime::infer(**graphs_.sink(*graph), std::move(small)).code, RuntimeCode::kBadInput);
}

TEST_F(GraphHostTest, ErrorNamesTheFunction) {
  const auto graph = deploy({"a.y=b.x", "b.y=c.x"});
  ASSERT_TRUE(functions_.unload(handles_[1], 0).is_ok());
  const Reply reply = infer(*graph, 2);
  EXPECT_NE(reply.code, RuntimeCode::kOk);
  EXPECT_THAT(reply.errors.to_status().message(), HasSubstr("graph g, function b"));
}

/// Each tensor has 16 bytes. In a chain one at a time is kept; a fork keeps that of `a` and `b`.
TEST_F(GraphHostTest, TensorsBetweenFunctionsCountInTheQuotaOfTheRequestsOwner) {
  const auto chain = deploy({"a.y=b.x", "b.y=c.x"});
  const auto fork = deploy({"a.y=b.x", "a.y=c.x"});
  auto others = exchange_.reserve(kOwner, ExchangeLimits().max_bytes - 24).value();
  EXPECT_EQ(infer_of_owner(*chain).code, RuntimeCode::kOk);
  const Reply refused = infer_of_owner(*fork);
  EXPECT_EQ(refused.code, RuntimeCode::kOutOfResources);
  EXPECT_THAT(refused.errors.to_status().message(), HasSubstr("graph g, function b: the exchange"));
  EXPECT_EQ(exchange_.usage(kOwner).num_tensors, 1) << "what the request kept is free again";
  EXPECT_EQ(infer(*fork, 2).code, RuntimeCode::kOk) << "a quota is its owner's alone";
  others = nullptr;
  EXPECT_EQ(infer_of_owner(*fork).code, RuntimeCode::kOk);
  exchange_.drop(kOwner);
  EXPECT_EQ(infer_of_owner(*chain).code, RuntimeCode::kCancelled) << "nobody waits for it";
}

TEST_F(GraphHostTest, DeadlineIsTheWholeRequests) {
  const auto graph = deploy({"a.y=b.x", "b.y=c.x"});
  runtime::Request request = request_of(2);
  request.deadline_ns = sluice::testing::from_now_ns(std::chrono::nanoseconds(-1));
  EXPECT_EQ(runtime::infer(**graphs_.sink(*graph), std::move(request)).code, RuntimeCode::kTimeout);
}

TEST_F(GraphHostTest, FunctionInUseIsNamedUntilTheGraphGoes) {
  const auto graph = deploy({"a.y=b.x", "b.y=c.x"});
  const Status used = graphs_.check_unused(handles_[1]);
  EXPECT_EQ(terms::runtime_code_of(used), RuntimeCode::kFailed);
  EXPECT_THAT(used.message(), HasSubstr("graph g"));
  ASSERT_TRUE(graphs_.unload(*graph, 0).is_ok());
  EXPECT_TRUE(graphs_.check_unused(handles_[1]).is_ok());
  EXPECT_EQ(terms::runtime_code_of(graphs_.info(*graph).status()), RuntimeCode::kInvalidHandle);
  EXPECT_TRUE(graphs_.list_models().empty());
}

TEST_F(GraphHostTest, GraphsOfWhatIsNoFunctionAreRefused) {
  terms::GraphRequest request;
  request.nodes = {{"a", ModelHandle{1}}};
  EXPECT_EQ(terms::runtime_code_of(graphs_.deploy(request).status()), RuntimeCode::kInvalidHandle);
  const auto graph = deploy({});
  request.nodes = {{"a", *graph}};
  EXPECT_EQ(terms::runtime_code_of(graphs_.deploy(request).status()), RuntimeCode::kInvalidHandle)
      << "a graph is no function";
  EXPECT_EQ(terms::runtime_code_of(graphs_.stop(*graph, 0)), RuntimeCode::kFailed);
}

/// Requests that others cancel, and a removal amid them: each is answered once.
TEST_F(GraphHostTest, EveryRequestIsAnsweredOnceAmidCancellationsAndARemoval) {
  const auto graph = deploy({"a.y=b.x", "b.y=c.x"});
  const auto sink = *graphs_.sink(*graph);
  std::atomic<int> num_tried = 0;
  std::atomic<int> num_accepted = 0;
  std::atomic<int> num_answers = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        runtime::Request request = request_of(2);
        request.exchange_owner = static_cast<std::uint64_t>(kOwner);
        request.on_done = [&](const Reply& /*reply*/) { ++num_answers; };
        const auto id = sink->submit(request);
        ++num_tried;
        if (!id.is_ok()) continue;
        ++num_accepted;
        if ((i + t) % 3 == 0) sink->cancel(*id);
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return num_tried >= 400; }));
  EXPECT_TRUE(graphs_.unload(*graph, 0).is_ok());
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(num_accepted, 0);
  EXPECT_EQ(num_answers, num_accepted) << "the removal waited for all";
  EXPECT_TRUE(eventually([&] { return exchange_.usage(kOwner).num_tensors == 0; }));
}

}  // namespace
}  // namespace sluice::sandbox
