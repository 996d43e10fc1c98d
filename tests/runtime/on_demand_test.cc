// Models that load at their first use, and loads that wait for cores.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <limits>
#include <stop_token>
#include <thread>

#include "base/log/work_counts.h"
#include "manual_engine.h"
#include "package/executable.h"
#include "runtime/demand/demand_host.h"
#include "support/eventually.h"

namespace sluice::runtime {
namespace {

using sluice::testing::eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;  // NOLINT(google-build-using-namespace)

class OnDemandTest : public ManualEngineTest {
 protected:
  OnDemandTest() { set_budget(std::numeric_limits<std::int64_t>::max()); }

  void set_budget(std::int64_t bytes) { host_ = std::make_unique<DemandHost>(*engine_, bytes); }

  terms::ModelHandle add(const std::string& name, bool is_pinned = false) {
    LoadRequest request = load_of(aligned_add_relu(), name);
    request.is_pinned = is_pinned;
    const auto handle = host_->load(request, {});
    EXPECT_TRUE(handle.is_ok()) << handle.status().to_string();
    return handle.is_ok() ? *handle : terms::ModelHandle{};
  }
  std::vector<terms::ModelHandle> add_several(int count) {
    std::vector<terms::ModelHandle> models;
    for (int i = 0; i < count; ++i)
      models.push_back(add(std::string(1, static_cast<char>('a' + i))));
    return models;
  }
  Reply reply_of(terms::ModelHandle model) {
    const auto sink = host_->sink(model);
    if (!sink.is_ok()) return failed_reply(sink.status());
    return runtime::infer(**sink, request_of(1));
  }
  void infer(terms::ModelHandle model) {
    const Reply reply = reply_of(model);
    ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
    EXPECT_THAT(floats(reply.outputs.at(0)), ElementsAre(2, 0, 4, 0));
  }
  bool is_awake(terms::ModelHandle model) { return host_->awake(model).is_ok(); }
  std::int64_t bytes_of_one() { return engine_->estimate(load_of(add_relu()))->total_bytes(); }

  std::unique_ptr<DemandHost> host_;
};

TEST_F(OnDemandTest, FirstUseLoadsAndALaterOneFindsItLoaded) {
  const auto model = add("a");
  EXPECT_EQ(host_->info(model)->phase, terms::ModelPhase::kUnloaded);
  EXPECT_EQ(terms::runtime_code_of(host_->statistics(model).status()), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(host_->signature(model)->inputs.size(), 1U) << "known while it sleeps";
  EXPECT_TRUE(engine_->list_models().empty());
  infer(model);
  const terms::ModelInfo info = engine_->list_models().at(0);
  EXPECT_TRUE(host_->uses(info)) << "the engine's model is listed as the host's";
  infer(model);
  EXPECT_EQ(engine_->list_models().at(0).handle, info.handle);
  EXPECT_EQ(host_->info(model)->name, "a");
  EXPECT_EQ(host_->info(model)->phase, terms::ModelPhase::kStarted);
  EXPECT_TRUE(host_->health(model).is_ok());
}

TEST_F(OnDemandTest, ModelWakesWithTheKernelsOfItsFirstLoad) {
  set_budget(bytes_of_one());
  const auto kernels_of_use = [&](terms::ModelHandle model) {
    const WorkCounts before = work_counts;
    infer(model);
    return (work_counts - before).kernels;
  };
  const auto models = add_several(2);
  EXPECT_GT(kernels_of_use(models[0]), 0U);
  infer(models[1]);
  ASSERT_FALSE(is_awake(models[0]));
  EXPECT_EQ(kernels_of_use(models[0]), 0U);
}

TEST_F(OnDemandTest, MoreModelsThanCoresTakeTurnsAndPinnedOnesStay) {
  const auto pinned = add("pinned", true);
  const auto others = add_several(4);
  infer(pinned);
  for (const auto model : others) infer(model);
  EXPECT_TRUE(is_awake(pinned)) << "it was used least recently, but is pinned";
  EXPECT_FALSE(is_awake(others[0]));
  EXPECT_EQ(engine_->list_models().size(), 4U) << "as many as there are cores";
  infer(others[0]);
}

TEST_F(OnDemandTest, ByteBudgetIsKeptAndTheLeastRecentlyUsedGoes) {
  set_budget(2 * bytes_of_one());
  const auto models = add_several(3);
  for (const std::size_t i : {0, 1, 0, 2}) infer(models[i]);
  EXPECT_EQ(engine_->list_models().size(), 2U);
  EXPECT_TRUE(is_awake(models[0]));
  EXPECT_FALSE(is_awake(models[1]));
  EXPECT_LE(host_->loaded_bytes(), 2 * bytes_of_one());
}

TEST_F(OnDemandTest, ModelInUseIsNotTakenAway) {
  const auto models = add_several(5);
  std::vector<std::shared_ptr<RequestSink>> uses;
  for (int i = 0; i < 4; ++i)
    uses.push_back(host_->sink(models[static_cast<std::size_t>(i)]).value());
  EXPECT_EQ(reply_of(models[4]).code, RuntimeCode::kNotEnoughCores);
  uses.pop_back();
  infer(models[4]);
}

TEST_F(OnDemandTest, ErrorSaysWhenNothingCanBeUnloaded) {
  set_budget(bytes_of_one());
  const auto models = add_several(2);
  const auto use = host_->sink(models[0]).value();
  const Status status = host_->sink(models[1]).status();
  EXPECT_EQ(terms::runtime_code_of(status), RuntimeCode::kOutOfResources);
  EXPECT_THAT(status.message(), HasSubstr("raise the budget"));
}

TEST_F(OnDemandTest, StoppedOrUnloadedModelIsReloaded) {
  const auto model = add("a");
  infer(model);
  ASSERT_TRUE(engine_->unload(terms::ModelHandle(engine_->list_models().at(0).handle)).is_ok());
  infer(model);
  ASSERT_TRUE(engine_->stop(terms::ModelHandle(engine_->list_models().at(0).handle)).is_ok());
  infer(model);
  EXPECT_EQ(engine_->list_models().size(), 1U);
}

TEST_F(OnDemandTest, UnloadedModelGivesItsPackageBack) {
  LoadRequest request = load_of(add_relu());
  request.is_pinned = true;
  const std::weak_ptr<const package::Executable> executable = request.executable;
  const auto model = host_->load(request, {}).value();
  request = {};
  infer(model);
  ASSERT_TRUE(host_->unload(model, 0).is_ok());
  EXPECT_TRUE(engine_->list_models().empty());
  EXPECT_TRUE(executable.expired());
  EXPECT_EQ(host_->loaded_bytes(), 0);
  EXPECT_EQ(reply_of(model).code, RuntimeCode::kInvalidHandle);
  EXPECT_EQ(terms::runtime_code_of(host_->unload(model, 0)), RuntimeCode::kInvalidHandle);
}

TEST_F(OnDemandTest, GroupsAndBrokenFilesAreRefusedAtOnce) {
  LoadRequest on_group = load_of(add_relu());
  on_group.group = group_of(1);
  EXPECT_THAT(host_->load(on_group, {}).status().message(), HasSubstr("name no group"));
  LoadRequest broken;
  broken.path = "/no/such/file.sluice";
  EXPECT_EQ(terms::runtime_code_of(host_->load(broken, {}).status()), RuntimeCode::kInvalid);
  const auto model = add("a");
  EXPECT_EQ(terms::runtime_code_of(host_->start(model)), RuntimeCode::kFailed);
  engine_->shutdown();
  EXPECT_EQ(reply_of(model).code, RuntimeCode::kFailed);
}

TEST_F(OnDemandTest, ManyThreadsStayWithinTheBudget) {
  set_budget(3 * bytes_of_one());
  const auto models = add_several(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 100; ++i) {
        const auto use = host_->sink(models[(t + i * 7) % models.size()]);
        EXPECT_TRUE(use.is_ok()) << "at most two others are in use: " << use.status().to_string();
        EXPECT_LE(host_->loaded_bytes(), 3 * bytes_of_one());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(OnDemandTest, ModelUnloadedDuringItsLoadIsNotLeftBehind) {
  LoadRequest request = load_of(add_relu());
  terms::ModelHandle model{};
  std::thread remover;
  request.on_progress = [&](LoadPhase phase) {
    if (phase != LoadPhase::kPlacing) return;
    remover = std::thread([&] { EXPECT_TRUE(host_->unload(model, 0).is_ok()); });
    EXPECT_TRUE(eventually([&] { return !host_->info(model).is_ok(); }));
  };
  model = host_->load(request, {}).value();
  (void)host_->sink(model);
  remover.join();
  EXPECT_TRUE(engine_->list_models().empty());
  EXPECT_EQ(host_->loaded_bytes(), 0);
}

/// Cores that are another's: fail, or wait for them in turn.
class WaitForCoresTest : public ManualEngineTest {
 protected:
  static std::int64_t soon() { return sluice::testing::from_now_ns(std::chrono::milliseconds(1)); }
};

TEST_F(WaitForCoresTest, LoadWithoutWaitPolicyFailsAtOnce) {
  group_of(4);
  EXPECT_EQ(terms::runtime_code_of(engine_->load(load_of(add_relu())).status()),
            RuntimeCode::kNotEnoughCores);
  LoadRequest request = load_of(add_relu());
  request.wait = topology::WaitPolicy::until(soon());
  EXPECT_EQ(terms::runtime_code_of(engine_->load(request).status()), RuntimeCode::kTimeout);
  EXPECT_EQ(
      terms::runtime_code_of(
          engine_->create_group({.num_cores = 1}, topology::WaitPolicy::until(soon())).status()),
      RuntimeCode::kTimeout);
}

TEST_F(WaitForCoresTest, WaitingLoadGetsReturnedCores) {
  const terms::CoreGroupId group = group_of(4);
  LoadRequest request = load_of(add_relu_in({2, 2}));
  request.wait = topology::WaitPolicy::wait();
  std::atomic<bool> is_placing = false;
  request.on_progress = [&](LoadPhase phase) { is_placing = phase == LoadPhase::kPlacing; };
  auto load = std::async(std::launch::async, [&] { return engine_->load(request); });
  EXPECT_TRUE(eventually([&] { return is_placing.load(); }));
  ASSERT_TRUE(engine_->destroy_group(group).is_ok());
  const auto loaded = load.get();
  ASSERT_TRUE(loaded.is_ok()) << loaded.status().to_string();
  EXPECT_EQ(engine_->num_free_cores(), 0);
}

TEST_F(WaitForCoresTest, CancelAndShutdownWakeWaiters) {
  group_of(4);
  LoadRequest request = load_of(add_relu());
  request.wait = topology::WaitPolicy::wait();
  std::atomic<int> num_placing = 0;
  request.on_progress = [&](LoadPhase phase) { num_placing += phase == LoadPhase::kPlacing; };
  std::stop_source stop;
  const auto load = [&] { return engine_->load(request, stop.get_token()); };
  auto cancelled = std::async(std::launch::async, load);
  EXPECT_TRUE(eventually([&] { return num_placing == 1; }));
  stop.request_stop();
  EXPECT_EQ(terms::runtime_code_of(cancelled.get().status()), RuntimeCode::kCancelled);
  stop = {};
  auto waiting = std::async(std::launch::async, load);
  EXPECT_TRUE(eventually([&] { return num_placing == 2; }));
  engine_->shutdown();
  EXPECT_FALSE(waiting.get().is_ok());
}

}  // namespace
}  // namespace sluice::runtime
