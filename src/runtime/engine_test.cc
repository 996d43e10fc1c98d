// What the whole does: the flows of loading, starting and inferring, and what goes wrong in them.
#include "runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "package/executable.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"

namespace sluice::runtime {
namespace {

using testing::add_relu;
using testing::add_relu_in;
using ::testing::ElementsAre;
using testing::floats;
using ::testing::HasSubstr;
using testing::load_of;
using testing::pretended_cpu_map;
using testing::registry;
using testing::request_of;

RuntimeCode code_of(const Status& status) { return terms::runtime_code_of(status); }

/// Threads or none: the same rules.
class EngineTest : public ::testing::TestWithParam<bool> {
 protected:
  EngineTest() : manual_(system_clock()) { make(pretended_cpu_map(4)); }

  void make(topology::DeviceMap map) {
    DriverSource& drivers = GetParam() ? static_cast<DriverSource&>(threads_) : manual_;
    EngineOptions options;
    options.devices = std::move(map);
    engine_ = std::make_unique<testing::TestEngine>(registry(), drivers, std::move(options));
  }

  terms::ModelHandle load(const LoadRequest& request) {
    auto handle = engine_->load(request);
    EXPECT_TRUE(handle.is_ok()) << handle.status().to_string();
    return handle.is_ok() ? *handle : terms::ModelHandle{};
  }
  terms::ModelHandle load_on(terms::CoreGroupId group, const std::string& name = "m") {
    LoadRequest request = load_of(add_relu(), name);
    request.group = group;
    return load(request);
  }
  terms::CoreGroupId group_of(int cores) {
    terms::CoreRequest request;
    request.num_cores = cores;
    auto group = engine_->create_group(request);
    EXPECT_TRUE(group.is_ok()) << group.status().to_string();
    return group.is_ok() ? *group : terms::CoreGroupId();
  }

  ThreadDrivers threads_;
  ManualDrivers manual_;
  std::unique_ptr<testing::TestEngine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Drivers, EngineTest, ::testing::Bool(), [](const auto& driver) {
  return driver.param ? std::string("Threads") : std::string("Manual");
});

TEST_P(EngineTest, ImplicitLoadMakesAGroupStartsAndUnloadReturnsTheCores) {
  const terms::ModelHandle model = load(load_of(add_relu_in({2, 1})));
  EXPECT_EQ(engine_->num_free_cores(), 1);
  const terms::ModelInfo info = engine_->info(model).value();
  EXPECT_EQ(info.phase, terms::ModelPhase::kStarted);
  EXPECT_EQ(info.mode, terms::LoadMode::kNormal);
  EXPECT_TRUE(info.is_implicit);
  const Reply reply = engine_->infer(model, request_of(1));
  ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
  EXPECT_THAT(floats(reply.outputs[0]), ElementsAre(2, 0, 4, 0));
  EXPECT_TRUE(engine_->unload(model).is_ok());
  EXPECT_EQ(engine_->num_free_cores(), 4);
  EXPECT_TRUE(engine_->list_groups().empty());
}

TEST_P(EngineTest, ImplicitLoadFailsWhereFreeCoresAreTooFewForNormalMode) {
  group_of(2);
  const auto failed = engine_->load(load_of(add_relu_in({2, 1})));
  EXPECT_EQ(code_of(failed.status()), RuntimeCode::kNotEnoughCores);
  EXPECT_EQ(engine_->list_groups().size(), 1U);
}

TEST_P(EngineTest, LoadNamesTheCoresOfAModelOfOneSegment) {
  LoadRequest request = load_of(add_relu());
  request.cores = 3;
  const terms::ModelHandle model = load(request);
  EXPECT_EQ(engine_->num_free_cores(), 1);
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk);
  EXPECT_EQ(code_of(engine_->load(request).status()), RuntimeCode::kNotEnoughCores);
  request.cores = 0;
  load(request);
  EXPECT_EQ(engine_->num_free_cores(), 0) << "all that were free";
  EXPECT_TRUE(engine_->unload(model).is_ok());
  request = load_of(add_relu_in({1, 1}));
  request.cores = 2;
  const Status refused = engine_->load(request).status();
  EXPECT_EQ(code_of(refused), RuntimeCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr("cores: 2 is for models of one segment; \"m\" has 2"));
}

TEST_P(EngineTest, ModelOfTextsTakesAllFreeCoresUnlessTheLoadSays) {
  auto of_texts = std::make_shared<package::Executable>(*add_relu());
  of_texts->graph.metadata[package::kGenerationFact] = "{}";
  LoadRequest request = load_of(of_texts);
  request.cores = 1;
  const terms::ModelHandle bounded = load(request);
  EXPECT_EQ(engine_->num_free_cores(), 3);
  request.cores.reset();
  const terms::ModelHandle all = load(request);
  EXPECT_EQ(engine_->num_free_cores(), 0);
  EXPECT_EQ(engine_->info(all).value().depth, 2) << "one run at a time, and one that is ready";
  EXPECT_TRUE(engine_->unload(bounded).is_ok());
  EXPECT_TRUE(engine_->unload(all).is_ok());
  request.may_share = true;
  const terms::ModelInfo first = engine_->info(load(request)).value();
  const terms::ModelInfo second = engine_->info(load(request)).value();
  EXPECT_EQ(first.group, second.group) << "they take turns on all cores";
}

TEST_P(EngineTest, ImplicitGroupRefusesASecondModel) {
  const terms::ModelHandle model = load(load_of(add_relu()));
  LoadRequest second = load_of(add_relu(), "second");
  second.group = engine_->info(model).value().group;
  EXPECT_EQ(code_of(engine_->load(second).status()), RuntimeCode::kFailed);
}

TEST_P(EngineTest, ExplicitGroupWithCoresForAllLoadsInNormalMode) {
  LoadRequest request = load_of(add_relu_in({2, 1}));
  request.group = group_of(3);
  const terms::ModelInfo info = engine_->info(load(request)).value();
  EXPECT_EQ(info.mode, terms::LoadMode::kNormal);
  EXPECT_EQ(info.phase, terms::ModelPhase::kLoaded) << "an explicit load is not started";
  EXPECT_EQ(info.depth, 4) << "cores and one more";
}

TEST_P(EngineTest, ExplicitGroupWithCoresForTheLargestLoadsInSharedMode) {
  LoadRequest request = load_of(add_relu_in({2, 1}));
  request.group = group_of(2);
  const terms::ModelHandle model = load(request);
  EXPECT_EQ(engine_->info(model).value().mode, terms::LoadMode::kShared);
  EXPECT_EQ(engine_->info(model).value().num_slots, 1U) << "no pipelining";
  ASSERT_TRUE(engine_->start(model).is_ok());
  EXPECT_THAT(floats(engine_->infer(model, request_of(1)).outputs.at(0)), ElementsAre(2, 0, 4, 0));
}

TEST_P(EngineTest, ExplicitGroupTooSmallForTheLargestRefusesTheLoad) {
  LoadRequest request = load_of(add_relu_in({2, 1}));
  request.group = group_of(1);
  const Status status = engine_->load(request).status();
  EXPECT_EQ(code_of(status), RuntimeCode::kNotEnoughCores);
  EXPECT_THAT(status.message(), HasSubstr("needs 3 cores, 2 in shared mode"));
  EXPECT_TRUE(engine_->destroy_group(*request.group).is_ok()) << "nothing stayed on it";
}

TEST_P(EngineTest, SingleSegmentNeedsTheSameCoresInBothModes) {
  LoadRequest request = load_of(add_relu_in({2}));
  request.group = group_of(2);
  EXPECT_EQ(engine_->info(load(request)).value().mode, terms::LoadMode::kNormal);
  request.group = group_of(1);
  EXPECT_EQ(code_of(engine_->load(request).status()), RuntimeCode::kNotEnoughCores);
}

TEST_P(EngineTest, ModelsWithoutOperationsAnswer) {
  for (const std::string_view dims : {"N", "2"}) {
    const std::string text =
        fmt::format("subgraph @0 \"main\" {{\n  input %x : f32[{}]\n  output [%x]\n}}\n", dims);
    const terms::ModelHandle model = load(load_of(testing::model_of(text)));
    std::vector<float> x = {1, 2};
    Request request;
    request.inputs = {{x.data(), 8, ir::ElementType::kF32, {2}}};
    const Reply reply = engine_->infer(model, std::move(request));
    EXPECT_EQ(reply.code, RuntimeCode::kOk);
    EXPECT_EQ(testing::floats(reply.outputs.at(0)), x);
    EXPECT_TRUE(engine_->unload(model).is_ok());
  }
}

TEST_P(EngineTest, SecondStartInAGroupIsRefusedWithRemedy) {
  const terms::CoreGroupId group = group_of(1);
  const terms::ModelHandle first = load_on(group, "first");
  const terms::ModelHandle second = load_on(group, "second");
  ASSERT_TRUE(engine_->start(first).is_ok());
  const Status status = engine_->start(second);
  EXPECT_EQ(code_of(status), RuntimeCode::kFailed);
  EXPECT_THAT(status.message(), HasSubstr("is running model \"first\"; stop that first"));
  EXPECT_EQ(engine_->infer(second, request_of(1)).code, RuntimeCode::kFailed);
  ASSERT_TRUE(engine_->stop(first).is_ok());
  ASSERT_TRUE(engine_->start(second).is_ok());
  EXPECT_EQ(engine_->infer(second, request_of(1)).code, RuntimeCode::kOk);
  EXPECT_EQ(engine_->infer(first, request_of(1)).code, RuntimeCode::kFailed);
  EXPECT_EQ(engine_->list_groups()[0].num_switches, 1);
}

TEST_P(EngineTest, LoadsAndUnloadsDoNotDisturbARunningModel) {
  const terms::CoreGroupId group = group_of(1);
  const terms::ModelHandle running = load_on(group, "running");
  ASSERT_TRUE(engine_->start(running).is_ok());
  const terms::ModelHandle other = load_on(group, "other");
  EXPECT_EQ(engine_->infer(running, request_of(1)).code, RuntimeCode::kOk);
  EXPECT_TRUE(engine_->unload(other).is_ok());
  EXPECT_EQ(engine_->infer(running, request_of(1)).code, RuntimeCode::kOk);
}

TEST_P(EngineTest, GroupIsDestroyedOnlyAfterItsLastModel) {
  const terms::CoreGroupId group = group_of(2);
  const terms::ModelHandle model = load_on(group);
  EXPECT_EQ(code_of(engine_->destroy_group(group)), RuntimeCode::kFailed);
  ASSERT_TRUE(engine_->unload(model).is_ok());
  EXPECT_TRUE(engine_->destroy_group(group).is_ok());
  EXPECT_EQ(engine_->num_free_cores(), 4);
  EXPECT_EQ(code_of(engine_->destroy_group(group)), RuntimeCode::kInvalidHandle);
}

TEST_P(EngineTest, HandlesAreStaleAfterUnload) {
  const terms::ModelHandle model = load(load_of(add_relu()));
  ASSERT_TRUE(engine_->unload(model).is_ok());
  const terms::ModelHandle next = load(load_of(add_relu()));
  EXPECT_NE(model, next);
  for (const terms::ModelHandle stale : {model, terms::ModelHandle{0}, terms::ModelHandle{~0ULL}}) {
    EXPECT_EQ(code_of(engine_->start(stale)), RuntimeCode::kInvalidHandle);
    EXPECT_EQ(code_of(engine_->stop(stale)), RuntimeCode::kInvalidHandle);
    EXPECT_EQ(code_of(engine_->unload(stale)), RuntimeCode::kInvalidHandle);
    EXPECT_EQ(engine_->infer(stale, request_of(1)).code, RuntimeCode::kInvalidHandle);
  }
  EXPECT_EQ(engine_->infer(next, request_of(1)).code, RuntimeCode::kOk);
}

TEST_P(EngineTest, DoubleStartAndDoubleStopAreRefused) {
  const terms::ModelHandle model = load_on(group_of(1));
  EXPECT_EQ(code_of(engine_->stop(model)), RuntimeCode::kFailed);
  ASSERT_TRUE(engine_->start(model).is_ok());
  EXPECT_EQ(code_of(engine_->start(model)), RuntimeCode::kFailed);
  ASSERT_TRUE(engine_->stop(model).is_ok());
  EXPECT_EQ(code_of(engine_->stop(model)), RuntimeCode::kFailed);
  EXPECT_TRUE(engine_->start(model).is_ok());
}

TEST_P(EngineTest, AsynchronousRequestsAreIdentifiedByCookie) {
  const terms::ModelHandle model = load(load_of(add_relu()));
  Request request = request_of(1);
  const auto cookie = engine_->post(model, request);
  ASSERT_TRUE(cookie.is_ok()) << cookie.status().to_string();
  const Reply reply = engine_->wait(*cookie, kNoDeadline);
  ASSERT_EQ(reply.code, RuntimeCode::kOk);
  EXPECT_THAT(floats(reply.outputs[0]), ElementsAre(2, 0, 4, 0));
  EXPECT_EQ(engine_->poll(*cookie).code, RuntimeCode::kInvalidHandle) << "taken";
}

TEST_P(EngineTest, WrongInputsAreBadInput) {
  const terms::ModelHandle model = load(load_of(add_relu()));
  EXPECT_EQ(engine_->infer(model, Request()).code, RuntimeCode::kBadInput);
  Request request = request_of(1);
  request.inputs[0].dims = {2, 2};
  const Reply reply = engine_->infer(model, request);
  EXPECT_EQ(reply.code, RuntimeCode::kBadInput);
  EXPECT_THAT(reply.errors.entries()[0].message, HasSubstr("model takes f32[4]"));
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk);
}

TEST_P(EngineTest, DeadlineInThePastIsATimeoutAtOnce) {
  const terms::ModelHandle model = load(load_of(add_relu()));
  Request request = request_of(1);
  request.deadline_ns = engine_->clock().now_ns() - 1;
  EXPECT_EQ(engine_->infer(model, request).code, RuntimeCode::kTimeout);
  const auto id = engine_->sink(model).value()->submit(request);
  EXPECT_EQ(terms::runtime_code_of(id.status()), RuntimeCode::kTimeout) << "it has no place";
}

TEST_P(EngineTest, DetailNamesBackendsCoresAndTimes) {
  const terms::ModelHandle model = load(load_of(add_relu()));
  Request request = request_of(1);
  request.wants_detail = true;
  const terms::ReplyDetail detail = engine_->infer(model, request).detail;
  EXPECT_THAT(detail.backends, ElementsAre("cpu"));
  EXPECT_THAT(detail.cores, ElementsAre(0));
  EXPECT_GT(detail.compute_ns, 0);
  EXPECT_EQ(detail.copy_ns, 0) << "host memory is not copied";
}

TEST_P(EngineTest, NanPolicyPassesFlagsOrFails) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const terms::NanPolicy policy :
       {terms::NanPolicy::kPass, terms::NanPolicy::kFlag, terms::NanPolicy::kFail}) {
    LoadRequest request = load_of(add_relu());
    request.nan_policy = policy;
    const terms::ModelHandle model = load(request);
    const Reply reply = engine_->infer(model, request_of(nan));
    EXPECT_EQ(reply.code,
              policy == terms::NanPolicy::kPass ? RuntimeCode::kOk : RuntimeCode::kNumericError);
    EXPECT_EQ(reply.outputs.size(), policy == terms::NanPolicy::kFail ? 0U : 1U);
    EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk);
    ASSERT_TRUE(engine_->unload(model).is_ok());
  }
}

TEST_P(EngineTest, ExecutableLoadedTwiceIsSharedAndRunsInParallelGroups) {
  const auto executable = add_relu();
  const terms::ModelHandle first = load(load_of(executable, "a"));
  const terms::ModelHandle second = load(load_of(executable, "b"));
  EXPECT_FALSE(engine_->info(first).value().shares_package);
  EXPECT_TRUE(engine_->info(second).value().shares_package);
  EXPECT_NE(engine_->info(first).value().group, engine_->info(second).value().group);
  ASSERT_TRUE(engine_->unload(first).is_ok());
  EXPECT_EQ(engine_->infer(second, request_of(1)).code, RuntimeCode::kOk);
}

TEST_P(EngineTest, LoadsHavePhasesBetweenWhichTheyCanBeCancelled) {
  std::stop_source stop;
  std::vector<LoadPhase> phases;
  LoadRequest request = load_of(add_relu(), "cancelled");
  request.on_progress = [&](LoadPhase phase) {
    phases.push_back(phase);
    if (phase == LoadPhase::kAllocating) stop.request_stop();
  };
  const std::int32_t free_cores = engine_->num_free_cores();
  EXPECT_EQ(code_of(engine_->load(request, stop.get_token()).status()), RuntimeCode::kCancelled);
  EXPECT_THAT(phases, ElementsAre(LoadPhase::kReading, LoadPhase::kPlacing, LoadPhase::kPreparing,
                                  LoadPhase::kAllocating));
  EXPECT_EQ(engine_->num_free_cores(), free_cores) << "nothing stays behind";
}

TEST_P(EngineTest, ModelLargerThanTheGroupsMemoryIsRefusedItemised) {
  topology::DeviceMap map = pretended_cpu_map(4);
  map.devices[0].memory_bytes = 64;
  make(std::move(map));
  const Status status = engine_->load(load_of(add_relu())).status();
  EXPECT_EQ(code_of(status), RuntimeCode::kOutOfResources);
  EXPECT_THAT(status.message(), HasSubstr("bytes of constants"));
  EXPECT_EQ(engine_->num_free_cores(), 4);
}

TEST_P(EngineTest, NameThatCannotBePrintedIsRefused) {
  for (const std::string& name :
       {std::string(257, 'n'), std::string("a\nb"), std::string("\xFF")}) {
    EXPECT_EQ(code_of(engine_->load(load_of(add_relu(), name)).status()), RuntimeCode::kInvalid);
  }
  EXPECT_EQ(engine_->num_free_cores(), 4);
  load(load_of(add_relu(), std::string(256, 'n')));
}

TEST_P(EngineTest, EstimateReportsTheFootprintWithoutALoad) {
  const auto footprint = engine_->estimate(load_of(add_relu_in({2, 1})));
  ASSERT_TRUE(footprint.is_ok());
  EXPECT_EQ(footprint->constants_bytes, 16);
  EXPECT_EQ(footprint->depth, 4);
  EXPECT_EQ(engine_->num_free_cores(), 4);
}

TEST_P(EngineTest, ShutdownAnswersEveryRequest) {
  const terms::ModelHandle model = load(load_of(add_relu()));
  std::atomic<int> answers = 0;
  int taken = 0;
  const auto sink = engine_->sink(model).value();
  for (int i = 0; i < 2; ++i) {
    Request request = request_of(1);
    request.on_done = [&](const Reply&) { ++answers; };
    if (sink->submit(request).is_ok()) ++taken;
  }
  engine_->shutdown();
  EXPECT_EQ(answers, taken);
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kInvalidHandle);
  EXPECT_FALSE(engine_->load(load_of(add_relu())).is_ok());
  Request late = request_of(1);
  EXPECT_EQ(code_of(sink->submit(late).status()), RuntimeCode::kInvalidHandle);
  engine_->shutdown();
}

TEST_P(EngineTest, ManyCallersOfOneModelAllGetTheirOwnAnswer) {
  if (!GetParam()) GTEST_SKIP() << "without threads one caller drives at a time";
  LoadRequest request = load_of(add_relu());
  request.depth = 8;
  const terms::ModelHandle model = load(request);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 200; ++i) {
        const auto value = static_cast<float>(caller * 1000 + i);
        const Reply reply = engine_->infer(model, request_of(value));
        ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
        ASSERT_EQ(floats(reply.outputs[0])[0], value + 1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(engine_->statistics(model).value().num_answered(), 800);
}

}  // namespace
}  // namespace sluice::runtime
