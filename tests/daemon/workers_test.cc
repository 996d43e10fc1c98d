// Groups whose models run in worker processes, in a sluiced of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"
#include "support/eventually.h"
#include "support/process.h"
#include "terms/runtime_code.h"

namespace sluice {
namespace {

using sluice::testing::DaemonSetup;
using sluice::testing::eventually;
using sluice::testing::infer;
using sluice::testing::RunningDaemon;
using sluice::testing::state_of;
using sluice::testing::status_of;
using sluice::testing::TempDir;
using sluice::testing::write_model;
using terms::Isolation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WorkersTest : public ::testing::Test {
 protected:
  explicit WorkersTest(std::vector<std::string> flags = {}) {
    DaemonSetup setup;
    setup.flags = std::move(flags);
    auto daemon = RunningDaemon::start(folder_, setup);
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    if (daemon.is_ok()) daemon_ = std::move(*daemon);
    one_core_ = write_model(folder_, "one", {1});
    three_cores_ = write_model(folder_, "three", {2, 1});
  }

  static terms::WorkerInfo worker_of(rpc::client::Client& client, terms::CoreGroupId group) {
    const auto groups = client.list_groups();
    EXPECT_TRUE(groups.is_ok()) << groups.status().to_string();
    for (const auto& one : *groups) {
      if (one.info.id == group) return one.info.worker;
    }
    return {};
  }

  TempDir folder_;
  std::unique_ptr<RunningDaemon> daemon_;
  std::string one_core_;
  std::string three_cores_;
};

TEST_F(WorkersTest, ImplicitGroupRunsInAWorkerOfItsOwn) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client("user");
  terms::LoadOptions options;
  options.isolation = Isolation::kProcess;
  const auto model = client->load(options, three_cores_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_EQ(model->info.phase, terms::ModelPhase::kStarted);
  EXPECT_EQ(model->info.mode, terms::LoadMode::kNormal);
  const auto worker = worker_of(*client, model->info.group);
  EXPECT_EQ(worker.isolation, Isolation::kProcess);
  EXPECT_EQ(worker.state, "ready");
  EXPECT_GT(worker.process, 0);
  EXPECT_NE(worker.process, daemon_->process());
  EXPECT_EQ(kill(static_cast<pid_t>(worker.process), 0), 0);
  const auto answer = infer(*client, model->info.handle, 2);
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  EXPECT_THAT(*answer, ElementsAre(3, 0, 5, 0));
  const auto statistics = client->statistics(model->info.handle);
  ASSERT_TRUE(statistics.is_ok());
  EXPECT_EQ(statistics->front().accepted, 1);
  EXPECT_EQ(statistics->front().total.count, 1);
  ASSERT_TRUE(client->unload(model->info.handle).is_ok());
  EXPECT_EQ(client->server()->num_free_cores, 16);
  EXPECT_EQ(kill(static_cast<pid_t>(worker.process), 0), -1) << "its worker has ended";
}

TEST_F(WorkersTest, ModelsOfAnExplicitGroupShareItsWorker) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client("user");
  const auto group = client->create_group({.num_cores = 3}, Isolation::kProcess);
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  terms::LoadOptions options;
  options.group = group->info.id;
  const auto first = client->upload(options, three_cores_);
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  const auto second = client->load(options, one_core_);
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();
  const std::uint64_t a = first->info.handle;
  const std::uint64_t b = second->info.handle;
  EXPECT_EQ(terms::runtime_code_of(infer(*client, a, 1).status()), RuntimeCode::kFailed);
  ASSERT_TRUE(client->start(a).is_ok());
  EXPECT_EQ(terms::runtime_code_of(client->start(b)), RuntimeCode::kFailed) << "another is active";
  EXPECT_THAT(infer(*client, a, 2).value(), ElementsAre(3, 0, 5, 0));
  EXPECT_EQ(terms::runtime_code_of(
                client->destroy_group(static_cast<std::uint64_t>(group->info.id.value()))),
            RuntimeCode::kFailed)
      << "models are on it";
  ASSERT_TRUE(client->stop(a).is_ok());
  ASSERT_TRUE(client->start(b).is_ok());
  EXPECT_THAT(infer(*client, b, 3).value(), ElementsAre(4, 1, 6, 0));
  ASSERT_TRUE(client->unload(a).is_ok());
  ASSERT_TRUE(client->unload(b).is_ok());
  ASSERT_TRUE(client->destroy_group(static_cast<std::uint64_t>(group->info.id.value())).is_ok());
  EXPECT_EQ(client->server()->num_free_cores, 16);
}

/// Kills the worker of a group and waits until another one serves.
void kill_worker(rpc::client::Client& client, terms::CoreGroupId group, std::int64_t process) {
  ASSERT_GT(process, 1);
  ASSERT_EQ(kill(static_cast<pid_t>(process), SIGKILL), 0);
  EXPECT_TRUE(eventually([&] {
    const auto groups = client.list_groups();
    return groups.is_ok() && std::ranges::any_of(*groups, [&](const auto& one) {
             const auto& worker = one.info.worker;
             return one.info.id == group && worker.state == "ready" && worker.process != process;
           });
  }));
}

TEST_F(WorkersTest, DeadWorkerIsRestartedWithItsModels) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client("user");
  const auto group = client->create_group({.num_cores = 3}, Isolation::kProcess);
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  const auto beside = client->load({}, one_core_);  // in the daemon
  ASSERT_TRUE(beside.is_ok());
  terms::LoadOptions options;
  options.group = group->info.id;
  const auto started = client->upload(options, three_cores_);
  const auto loaded = client->load(options, one_core_);
  ASSERT_TRUE(started.is_ok() && loaded.is_ok());
  ASSERT_TRUE(client->start(started->info.handle).is_ok());
  std::filesystem::remove(one_core_);  // the daemon has it open
  for (std::int64_t i = 1; i <= 3; ++i) {
    const auto worker = worker_of(*client, group->info.id);
    kill_worker(*client, group->info.id, worker.process);
    const auto after = worker_of(*client, group->info.id);
    EXPECT_EQ(after.num_restarts, i);
    EXPECT_THAT(after.reason, HasSubstr("died of signal 9 (SIGKILL)"));
    EXPECT_THAT(infer(*client, started->info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
    EXPECT_THAT(infer(*client, beside->info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
    EXPECT_EQ(terms::runtime_code_of(client->start(loaded->info.handle)), RuntimeCode::kFailed)
        << "another is active, still";
  }
  ASSERT_TRUE(client->stop(started->info.handle).is_ok());
  ASSERT_TRUE(client->start(loaded->info.handle).is_ok());
  EXPECT_THAT(infer(*client, loaded->info.handle, 3).value(), ElementsAre(4, 1, 6, 0));
}

TEST_F(WorkersTest, RequestsOfADeadWorkerAreAnsweredAtOnceWithTheCause) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client("user");
  terms::LoadOptions options;
  options.isolation = Isolation::kProcess;
  options.depth = 4;
  const auto model = client->load(options, one_core_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  const auto worker = worker_of(*client, model->info.group);
  // Stopped, it keeps its requests until it is killed.
  ASSERT_TRUE(sluice::testing::suspend(static_cast<pid_t>(worker.process)));
  const auto stream = client->open_stream();
  ASSERT_TRUE(stream.is_ok());
  std::vector<float> x(4, 1.0F);
  for (std::uint64_t id = 1; id <= 4; ++id) {
    ASSERT_TRUE(
        (*stream)
            ->send(id, model->info.handle, {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}})
            .is_ok());
  }
  EXPECT_TRUE(
      eventually([&] { return client->statistics(model->info.handle)->front().accepted >= 4; }));
  kill_worker(*client, model->info.group, worker.process);
  std::set<std::uint64_t> answered;
  for (int i = 0; i < 4; ++i) {
    auto answer = (*stream)->next();
    ASSERT_TRUE(answer.is_ok() && answer->has_value());
    answered.insert((*answer)->id);
    const Status& status = (*answer)->reply.status();
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr("died of signal 9 (SIGKILL); it is being restarted"));
  }
  EXPECT_EQ(answered.size(), 4U);
  EXPECT_THAT(infer(*client, model->info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
  (*stream)->close();
  EXPECT_FALSE((*stream)->next()->has_value()) << "an answer too many";
}

TEST_F(WorkersTest, SessionEndDuringUnloadLeavesNoGroup) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client("user");
  const auto group = client->create_group({.num_cores = 1}, Isolation::kProcess);
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  terms::LoadOptions options;
  options.group = group->info.id;
  const auto model = client->load(options, one_core_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  const auto process = static_cast<pid_t>(group->info.worker.process);
  ASSERT_TRUE(sluice::testing::suspend(process));  // so that the unload takes its time
  const auto admin = daemon_->client();
  const terms::SessionId session = admin->list_sessions()->front().id;
  std::thread unloading([&] { (void)client->unload(model->info.handle).is_ok(); });
  EXPECT_TRUE(eventually([&] { return admin->list_models()->empty(); }));
  std::thread closing([&] { EXPECT_TRUE(daemon_->client()->close_session(session).is_ok()); });
  EXPECT_TRUE(eventually([&] { return admin->list_sessions()->empty(); }));
  kill(process, SIGCONT);
  closing.join();
  unloading.join();
  EXPECT_TRUE(admin->list_groups()->empty());
  EXPECT_EQ(admin->server()->num_free_cores, 16);
}

TEST_F(WorkersTest, WorkerHasNoPrivilegesAndFewSystemCalls) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client("user");
  const auto group = client->create_group({.num_cores = 1}, Isolation::kProcess);
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  const auto process = static_cast<pid_t>(group->info.worker.process);
  EXPECT_EQ(status_of(process, "NoNewPrivs"), "1");
  EXPECT_EQ(status_of(process, "Seccomp"), "2");
  EXPECT_EQ(status_of(process, "CapEff"), "0000000000000000");
  EXPECT_EQ(status_of(process, "CapPrm"), "0000000000000000");
  if (geteuid() == 0) {
    EXPECT_NE(status_of(process, "Uid").substr(0, 2), "0\t");
  }
}

TEST_F(WorkersTest, DaemonsDeathEndsItsWorkers) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client();
  const auto group = client->create_group({.num_cores = 1}, Isolation::kProcess);
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  const auto process = static_cast<pid_t>(group->info.worker.process);
  ASSERT_EQ(kill(process, 0), 0);
  daemon_->end(SIGKILL);
  // The process that adopts the orphan may reap it late.
  EXPECT_TRUE(eventually([&] {
    const char state = state_of(process, process);
    return state == '\0' || state == 'Z';
  }));
}

class FewRestartsTest : public WorkersTest {
 protected:
  FewRestartsTest() : WorkersTest({"--worker-restarts", "1"}) {}
};

TEST_F(FewRestartsTest, CrashLoopingWorkerStaysDownUntilReset) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client("user");
  terms::LoadOptions options;
  options.isolation = Isolation::kProcess;
  const auto model = client->load(options, one_core_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  const std::uint64_t handle = model->info.handle;
  kill_worker(*client, model->info.group, worker_of(*client, model->info.group).process);
  kill(static_cast<pid_t>(worker_of(*client, model->info.group).process), SIGKILL);
  EXPECT_TRUE(eventually([&] { return worker_of(*client, model->info.group).state == "failed"; }));
  EXPECT_EQ(client->list_models(handle)->front().info.phase, terms::ModelPhase::kFailed);
  EXPECT_EQ(terms::runtime_code_of(infer(*client, handle, 1).status()), RuntimeCode::kModelFailed);
  EXPECT_EQ(client->server()->num_free_cores, 15) << "the group keeps its cores";
  const Status reset = client->reset(handle);
  ASSERT_TRUE(reset.is_ok()) << reset.to_string();
  EXPECT_EQ(client->list_models(handle)->front().info.phase, terms::ModelPhase::kStopped);
  ASSERT_TRUE(client->start(handle).is_ok());
  EXPECT_THAT(infer(*client, handle, 2).value(), ElementsAre(3, 0, 5, 0));
}

}  // namespace
}  // namespace sluice
