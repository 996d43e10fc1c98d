// The flows of docs/daemon.md against a sluiced of its own process, over its socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <latch>
#include <thread>

#include "base/file.h"
#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"
#include "support/eventually.h"
#include "terms/runtime_code.h"

namespace sluice {
namespace {

using sluice::testing::eventually;
using sluice::testing::infer;
using sluice::testing::RunningDaemon;
using sluice::testing::TempDir;
using sluice::testing::write_model;
using terms::ModelPhase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RuntimeCode code_of(const Status& status) { return terms::runtime_code_of(status); }
template <typename T>
RuntimeCode code_of(const Result<T>& result) {
  return result.is_ok() ? RuntimeCode::kOk : code_of(result.status());
}

class FlowsTest : public ::testing::Test {
 protected:
  FlowsTest() {
    auto daemon = RunningDaemon::start(folder_);
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    if (daemon.is_ok()) daemon_ = std::move(*daemon);
    one_core_ = write_model(folder_, "one", {1});
    three_cores_ = write_model(folder_, "three", {2, 1});
    five_cores_ = write_model(folder_, "five", {4, 1});
  }

  /// A core group of `cores`: 3 are enough for the normal mode, 2 for the shared one.
  void run_explicit_flow(rpc::client::Client& client, std::int32_t cores);
  void run_implicit_flow(rpc::client::Client& client);

  TempDir folder_;
  std::unique_ptr<RunningDaemon> daemon_;
  std::string one_core_;
  std::string three_cores_;
  std::string five_cores_;
};

void FlowsTest::run_explicit_flow(rpc::client::Client& client, std::int32_t cores) {
  const auto group = client.create_group({.num_cores = cores});
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  EXPECT_EQ(group->info.cores.size(), static_cast<std::size_t>(cores));
  const auto handle = static_cast<std::uint64_t>(group->info.id.value());
  terms::LoadOptions options;
  options.group = group->info.id;
  options.name = "first";
  const auto first = client.load(options, three_cores_);
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  EXPECT_EQ(first->info.mode, cores >= 3 ? terms::LoadMode::kNormal : terms::LoadMode::kShared);
  EXPECT_EQ(first->info.phase, ModelPhase::kLoaded);
  options.name = "second";
  const auto second = client.upload(options, one_core_);
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();

  const std::uint64_t a = first->info.handle;
  const std::uint64_t b = second->info.handle;
  EXPECT_EQ(code_of(infer(client, a, 1)), RuntimeCode::kFailed) << "loaded, not started";
  EXPECT_EQ(code_of(client.stop(a)), RuntimeCode::kFailed);
  ASSERT_TRUE(client.start(a).is_ok());
  EXPECT_EQ(code_of(client.start(a)), RuntimeCode::kFailed) << "started already";
  EXPECT_EQ(code_of(client.start(b)), RuntimeCode::kFailed) << "another is active";
  EXPECT_THAT(infer(client, a, 2).value(), ElementsAre(3, 0, 5, 0));
  EXPECT_EQ(code_of(infer(client, b, 2)), RuntimeCode::kFailed);
  EXPECT_EQ(code_of(client.destroy_group(handle)), RuntimeCode::kFailed) << "models are on it";
  const Status stopped = client.stop(a);
  ASSERT_TRUE(stopped.is_ok()) << stopped.to_string();
  ASSERT_TRUE(client.start(b).is_ok());
  EXPECT_THAT(infer(client, b, 3).value(), ElementsAre(4, 1, 6, 0));
  ASSERT_TRUE(client.unload(a).is_ok()) << "stopped, while the other runs";
  EXPECT_EQ(code_of(infer(client, a, 1)), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(code_of(client.unload(a)), RuntimeCode::kInvalidHandle);
  ASSERT_TRUE(client.unload(b).is_ok());
  ASSERT_TRUE(client.destroy_group(handle).is_ok());
  EXPECT_EQ(code_of(client.destroy_group(handle)), RuntimeCode::kInvalidHandle);
}

void FlowsTest::run_implicit_flow(rpc::client::Client& client) {
  const auto model = client.load({}, three_cores_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_EQ(model->info.phase, ModelPhase::kStarted);
  EXPECT_EQ(model->info.mode, terms::LoadMode::kNormal);
  EXPECT_TRUE(model->info.is_implicit);
  EXPECT_EQ(model->info.name, "three");
  terms::LoadOptions onto;
  onto.group = model->info.group;
  EXPECT_EQ(code_of(client.load(onto, one_core_)), RuntimeCode::kFailed)
      << "an implicit group takes no second model";
  EXPECT_THAT(infer(client, model->info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
  ASSERT_TRUE(client.unload(model->info.handle).is_ok());
  EXPECT_EQ(code_of(client.list_models(model->info.handle)), RuntimeCode::kInvalidHandle);
}

TEST_F(FlowsTest, TwoClientsAtOnceGoThroughTheExplicitAndTheImplicitFlow) {
  ASSERT_NE(daemon_, nullptr);
  std::latch both(2);
  const auto session = [&](const std::string& name, std::int32_t cores) {
    const auto client = daemon_->client(name);
    both.arrive_and_wait();
    for (int i = 0; i < 5; ++i) {
      run_explicit_flow(*client, cores);
      run_implicit_flow(*client);
    }
  };
  std::thread other(session, "other", 2);
  session("one", 3);
  other.join();
  const auto server = daemon_->client()->server();
  ASSERT_TRUE(server.is_ok());
  EXPECT_EQ(server->num_free_cores, 16);
}

TEST_F(FlowsTest, LoadWithoutEnoughCoresIsRefused) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client("greedy");
  const auto all = client->create_group({.num_cores = 14});
  ASSERT_TRUE(all.is_ok()) << all.status().to_string();
  const auto implicit = client->load({}, five_cores_);
  EXPECT_EQ(code_of(implicit), RuntimeCode::kNotEnoughCores) << implicit.status().to_string();
  EXPECT_EQ(code_of(client->create_group({.num_cores = 3})), RuntimeCode::kNotEnoughCores);
  const auto small = client->create_group({.num_cores = 2});
  ASSERT_TRUE(small.is_ok());
  terms::LoadOptions options;
  options.group = small->info.id;
  EXPECT_EQ(code_of(client->load(options, five_cores_)), RuntimeCode::kNotEnoughCores);
}

TEST_F(FlowsTest, SessionsCannotUseEachOthersObjects) {
  ASSERT_NE(daemon_, nullptr);
  const auto owner = daemon_->client("owner");
  const auto other = daemon_->client("other");
  const auto group = owner->create_group({.num_cores = 2});
  ASSERT_TRUE(group.is_ok());
  const auto model = owner->load({}, one_core_);
  ASSERT_TRUE(model.is_ok());
  const std::uint64_t handle = model->info.handle;
  terms::LoadOptions onto;
  onto.group = group->info.id;
  for (const Status& status :
       {infer(*other, handle, 1).status(), other->stop(handle), other->unload(handle),
        other->start(handle), other->reset(handle),
        other->destroy_group(static_cast<std::uint64_t>(group->info.id.value())),
        other->load(onto, one_core_).status()}) {
    EXPECT_EQ(status.code(), Code::kPermissionDenied) << status.to_string();
    EXPECT_EQ(code_of(status), RuntimeCode::kInvalidHandle);
    EXPECT_THAT(status.message(), HasSubstr("belongs to session"));
  }
  EXPECT_EQ(other->list_models()->size(), 1U) << "lists show everything";
  EXPECT_TRUE(infer(*owner, handle, 1).is_ok());
}

TEST_F(FlowsTest, ObjectsWithoutSessionArePublicAndStay) {
  ASSERT_NE(daemon_, nullptr);
  std::uint64_t handle = 0;
  {
    const auto client = daemon_->client();
    const auto model = client->load({}, one_core_);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    handle = model->info.handle;
  }
  const auto client = daemon_->client("user");
  EXPECT_TRUE(infer(*client, handle, 1).is_ok());
  EXPECT_TRUE(client->unload(handle).is_ok());
}

/// Until the daemon has noticed that a client is gone, which no call of ours waits for.
std::int32_t free_cores_after_sessions(const RunningDaemon& daemon) {
  const auto client = daemon.client();
  EXPECT_TRUE(eventually(
      [&] { return client->list_sessions()->empty() && client->server()->num_free_cores >= 16; }));
  return client->server()->num_free_cores;
}

TEST_F(FlowsTest, EndedClientReleasesEverything) {
  ASSERT_NE(daemon_, nullptr);
  {
    const auto client = daemon_->client("short-lived");
    ASSERT_TRUE(client->load({}, five_cores_).is_ok());
    ASSERT_TRUE(client->create_group({.num_cores = 3}).is_ok());
    const auto sessions = client->list_sessions();
    ASSERT_EQ(sessions->size(), 1U);
    EXPECT_EQ(sessions->front().client, "short-lived");
    EXPECT_EQ(sessions->front().num_cores, 8);
    EXPECT_EQ(sessions->front().num_models, 1);
    EXPECT_EQ(sessions->front().peer.process, getpid());
    EXPECT_EQ(sessions->front().peer.user, static_cast<std::int64_t>(getuid()));
  }
  EXPECT_EQ(free_cores_after_sessions(*daemon_), 16);
  EXPECT_TRUE(daemon_->client()->list_models()->empty());
}

TEST_F(FlowsTest, SessionCanBeListedAndKilled) {
  ASSERT_NE(daemon_, nullptr);
  const auto victim = daemon_->client("victim");
  ASSERT_TRUE(victim->load({}, five_cores_).is_ok());
  const auto admin = daemon_->client();
  const auto sessions = admin->list_sessions();
  ASSERT_EQ(sessions->size(), 1U);
  ASSERT_TRUE(admin->close_session(sessions->front().id).is_ok());
  EXPECT_EQ(admin->server()->num_free_cores, 16);
  const Status status = victim->load({}, one_core_).status();
  EXPECT_EQ(status.code(), Code::kUnauthenticated) << status.to_string();
  EXPECT_EQ(code_of(admin->close_session(sessions->front().id)), RuntimeCode::kInvalidHandle);
}

TEST_F(FlowsTest, SigtermDrainsAndEndsWithZero) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client("user");
  ASSERT_TRUE(client->load({}, five_cores_).is_ok());
  EXPECT_EQ(daemon_->end(SIGTERM), 0);
  EXPECT_THAT(daemon_->output(), HasSubstr("daemon.end"));
  const auto after = client->list_models();
  EXPECT_EQ(after.status().code(), Code::kUnavailable);
}

TEST_F(FlowsTest, EstimateLoadsNothing) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client();
  for (const bool is_upload : {false, true}) {
    const auto footprint = client->estimate({}, five_cores_, is_upload);
    ASSERT_TRUE(footprint.is_ok()) << footprint.status().to_string();
    EXPECT_GT(footprint->total_bytes(), 0);
  }
  EXPECT_TRUE(client->list_models()->empty());
}

// As a client in a container, whose path leads to another file.
TEST_F(FlowsTest, LoadRefusesAFileThatTheClientSeesOtherwise) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client();
  EXPECT_TRUE(client->load({}, one_core_, file_version(one_core_)).is_ok());
  EXPECT_EQ(client->load({}, one_core_, file_version(three_cores_)).status().code(),
            Code::kNotFound);
}

TEST_F(FlowsTest, PathsOutsideOfTheModelFoldersAreRefused) {
  ASSERT_NE(daemon_, nullptr);
  const auto client = daemon_->client();
  std::filesystem::create_symlink("/etc/passwd", folder_ / "link.sluice");
  for (const std::string& path :
       {std::string("/etc/passwd"), (folder_ / "link.sluice").string(), std::string("one.sluice"),
        (folder_ / "../../etc/passwd").string(), std::string(), folder_.path().string()}) {
    const auto model = client->load({}, path);
    EXPECT_EQ(model.status().code(), Code::kPermissionDenied) << model.status().to_string();
  }
  EXPECT_EQ(client->load({}, (folder_ / "missing.sluice").string()).status().code(),
            Code::kNotFound);
}

}  // namespace
}  // namespace sluice
