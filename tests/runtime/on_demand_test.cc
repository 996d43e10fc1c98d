// Models that load at their first use, and loads that wait for cores.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <stop_token>
#include <thread>

#include "manual_engine.h"
#include "support/eventually.h"

namespace sluice::runtime {
namespace {

using sluice::testing::eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;  // NOLINT(google-build-using-namespace)

class OnDemandTest : public ManualEngineTest {
 protected:
  void add(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const Status status = engine_->add_on_demand(name, load_of(add_relu(), name));
      ASSERT_TRUE(status.is_ok()) << status.to_string();
    }
  }
  Reply reply_of(const std::string& name) {
    const auto use = engine_->use(name);
    if (!use.is_ok()) return failed_reply(use.status());
    return engine_->infer(terms::ModelHandle{use->handle()}, request_of(1));
  }
  void infer(const std::string& name) {
    const Reply reply = reply_of(name);
    ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
    EXPECT_THAT(floats(reply.outputs.at(0)), ElementsAre(2, 0, 4, 0));
  }
};

TEST_F(OnDemandTest, FirstUseLoadsAndALaterOneFindsItLoaded) {
  add({"a"});
  EXPECT_FALSE(engine_->is_loaded("a"));
  EXPECT_TRUE(engine_->list_models().empty());
  infer("a");
  const terms::ModelInfo info = engine_->list_models().at(0);
  infer("a");
  EXPECT_EQ(engine_->list_models().at(0).handle, info.handle);
  EXPECT_EQ(info.name, "a");
}

TEST_F(OnDemandTest, MoreModelsThanCoresTakeTurnsAndPinnedOnesStay) {
  add({"a", "b", "c", "d", "e"});
  ASSERT_TRUE(engine_->pin("a", true).is_ok());
  for (const char* name : {"a", "b", "c", "d", "e"}) infer(name);
  EXPECT_TRUE(engine_->is_loaded("a")) << "it was used least recently, but is pinned";
  EXPECT_FALSE(engine_->is_loaded("b"));
  EXPECT_EQ(engine_->list_models().size(), 4U) << "as many as there are cores";
  infer("b");
}

TEST_F(OnDemandTest, ByteBudgetIsKept) {
  EngineOptions options;
  options.devices = pretended_cpu_map(4);
  options.demand_budget_bytes = 2 * engine_->estimate(load_of(add_relu()))->total_bytes();
  engine_ = std::make_unique<Engine>(registry(), drivers_, options);
  add({"a", "b", "c"});
  for (const char* name : {"a", "b", "c"}) infer(name);
  EXPECT_EQ(engine_->list_models().size(), 2U);
  EXPECT_FALSE(engine_->is_loaded("a"));
}

TEST_F(OnDemandTest, ModelInUseIsNotTakenAway) {
  add({"a", "b", "c", "d", "e"});
  std::vector<DemandLoader::Use> uses;
  for (const char* name : {"a", "b", "c", "d"}) uses.push_back(engine_->use(name).value());
  EXPECT_EQ(reply_of("e").code, RuntimeCode::kNotEnoughCores);
  uses.pop_back();
  infer("e");
}

TEST_F(OnDemandTest, StoppedOrUnloadedModelIsReloaded) {
  add({"a"});
  infer("a");
  ASSERT_TRUE(engine_->unload(terms::ModelHandle(engine_->list_models().at(0).handle)).is_ok());
  infer("a");
  ASSERT_TRUE(engine_->stop(terms::ModelHandle(engine_->list_models().at(0).handle)).is_ok());
  infer("a");
  EXPECT_EQ(engine_->list_models().size(), 1U);
}

TEST_F(OnDemandTest, RemovedModelGivesItsPackageBack) {
  LoadRequest request = load_of(add_relu());
  const std::weak_ptr<const package::Executable> executable = request.executable;
  ASSERT_TRUE(engine_->add_on_demand("a", std::move(request), true).is_ok());
  infer("a");
  ASSERT_TRUE(engine_->remove_on_demand("a").is_ok());
  EXPECT_TRUE(engine_->list_models().empty());
  EXPECT_TRUE(executable.expired());
  EXPECT_EQ(reply_of("a").code, RuntimeCode::kInvalid);
  EXPECT_FALSE(engine_->remove_on_demand("a").is_ok());
}

TEST_F(OnDemandTest, WrongNamesAndGroupsAreRefused) {
  add({"a"});
  EXPECT_EQ(reply_of("x").code, RuntimeCode::kInvalid);
  EXPECT_FALSE(engine_->add_on_demand("a", load_of(add_relu())).is_ok());
  LoadRequest on_group = load_of(add_relu());
  on_group.group = group_of(1);
  EXPECT_THAT(engine_->add_on_demand("b", on_group).message(), HasSubstr("name no group"));
  LoadRequest broken;
  broken.path = "/no/such/file.sluice";
  ASSERT_TRUE(engine_->add_on_demand("broken", broken).is_ok());
  EXPECT_EQ(reply_of("broken").code, RuntimeCode::kInvalid);
  engine_->shutdown();
  EXPECT_EQ(reply_of("a").code, RuntimeCode::kFailed);
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
