// Clients and daemons that are killed: nobody else notices, and nothing stays behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "daemon/fixture.h"

namespace sluice {
namespace {

using sluice::testing::infer;
using sluice::testing::RunningDaemon;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KillsTest : public sluice::testing::DaemonTest {
 protected:
  /// A client process that loads a model, tells so, and infers until it is killed.
  pid_t start_busy_client() const {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(pipe(ends.data()), 0);
    const std::string program = sluice::testing::build_path("test/busy_client").string();
    const std::string told = std::to_string(ends[1]);
    const pid_t process = fork();
    if (process == 0) {
      close(ends[0]);
      execl(program.c_str(), "busy_client", daemon_->address().c_str(), three_cores_.c_str(),
            told.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1) << "the client did not load its model";
    close(ends[0]);
    return process;
  }
};

/// Waits for what the daemon does by itself when it notices that a client is gone.
void wait_until_free(rpc::Client& client, std::int32_t cores) {
  while (client.server()->num_free_cores < cores) std::this_thread::yield();
}

TEST_F(KillsTest, AKilledClientGivesEverythingBackAndOthersNeverNotice) {
  const auto steady = daemon_->client("steady");
  const auto model = steady->load({}, one_core_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  std::atomic<bool> is_over = false;
  std::atomic<int> num_errors = 0;
  std::thread load([&] {
    while (!is_over) {
      if (!infer(*steady, model->info.handle, 1).is_ok()) ++num_errors;
    }
  });
  const auto watcher = daemon_->client();
  for (int i = 0; i < 10; ++i) {
    const pid_t busy = start_busy_client();
    EXPECT_EQ(watcher->server()->num_free_cores, 12);
    kill(busy, SIGKILL);
    waitpid(busy, nullptr, 0);
    wait_until_free(*watcher, 15);
  }
  is_over = true;
  load.join();
  EXPECT_EQ(num_errors, 0);
  EXPECT_EQ(watcher->list_models()->size(), 1U);
  EXPECT_EQ(watcher->list_sessions()->size(), 1U);
}

TEST_F(KillsTest, AKilledDaemonLeavesNothingThatKeepsTheNextFromStarting) {
  const auto client = daemon_->client("user");
  ASSERT_TRUE(client->load({}, one_core_).is_ok());
  EXPECT_EQ(daemon_->end(SIGKILL), -SIGKILL);
  EXPECT_EQ(client->list_models().status().code(), Code::kUnavailable);
  auto next = RunningDaemon::start(folder_);
  ASSERT_TRUE(next.is_ok()) << next.status().to_string();
  EXPECT_TRUE((*next)->client()->list_models()->empty());
  // The old client finds the new daemon, where its session is none.
  EXPECT_EQ(client->list_models().status().code(), Code::kUnauthenticated);
}

TEST_F(KillsTest, ASecondDaemonOnADeviceOrASocketIsRefusedNamingTheFirst) {
  const auto same_device = RunningDaemon::start(folder_, {.flags = {}, .name = "second"});
  ASSERT_FALSE(same_device.is_ok());
  EXPECT_THAT(same_device.status().message(), HasSubstr("is served by sluiced, process"));
  const auto same_socket = RunningDaemon::start(
      folder_, {.flags = {"--lock-folder", (folder_ / "other").string(), "-g", daemon_->address()},
                .name = "third"});
  ASSERT_FALSE(same_socket.is_ok());
  EXPECT_THAT(same_socket.status().message(), HasSubstr("another sluiced serves it"));
  EXPECT_TRUE(daemon_->client()->server().is_ok());
}

class ThreeDaemons : public ::testing::Test {
 protected:
  std::unique_ptr<RunningDaemon> start(const std::string& name,
                                       const std::vector<std::string>& devices) {
    std::vector<std::string> flags;
    for (const std::string& device : devices) flags.insert(flags.end(), {"-t", device});
    auto daemon = RunningDaemon::start(folder_, {.flags = flags, .name = name});
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    return daemon.is_ok() ? std::move(*daemon) : nullptr;
  }

  sluice::testing::TempDir folder_;
};

TEST_F(ThreeDaemons, ServeOneMachineAndTwoGoOnWhenOneIsKilled) {
  const std::string one_core = sluice::testing::write_model(folder_, "one", {1});
  std::vector<std::unique_ptr<RunningDaemon>> daemons;
  daemons.push_back(start("a", {"00:10.0", "00:11.0"}));
  daemons.push_back(start("b", {"2"}));
  daemons.push_back(start("c", {"0000:00:13.0"}));
  std::vector<std::unique_ptr<rpc::Client>> clients;
  std::vector<std::uint64_t> models;
  for (const auto& daemon : daemons) {
    ASSERT_NE(daemon, nullptr);
    clients.push_back(daemon->client("user"));
    const auto model = clients.back()->load({}, one_core);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    models.push_back(model->info.handle);
  }
  EXPECT_EQ(clients[0]->server()->num_cores, 8);
  EXPECT_EQ(clients[1]->server()->num_cores, 4);
  const std::string five = sluice::testing::write_model(folder_, "five", {4, 1});
  EXPECT_EQ(sluice::testing::code_of(clients[1]->load({}, five)),
            runtime::RuntimeCode::kNotEnoughCores)
      << "larger than its part of the machine";

  daemons[1]->end(SIGKILL);
  EXPECT_EQ(infer(*clients[1], models[1], 1).status().code(), Code::kUnavailable);
  for (const std::size_t other : {std::size_t{0}, std::size_t{2}}) {
    EXPECT_THAT(infer(*clients[other], models[other], 2).value(), ElementsAre(3, 0, 5, 0));
  }
  EXPECT_NE(start("d", {"2"}), nullptr) << "its device is free again";
}

TEST_F(ThreeDaemons, DevicesThatAreNotConnectedMakeNoDaemon) {
  const auto gap = RunningDaemon::start(folder_, {.flags = {"-t", "0", "-t", "2"}, .name = "gap"});
  ASSERT_FALSE(gap.is_ok());
  EXPECT_THAT(gap.status().message(), HasSubstr("device 2"));
  const auto none = RunningDaemon::start(folder_, {.flags = {"-t", "1f:00.0"}, .name = "none"});
  ASSERT_FALSE(none.is_ok());
  EXPECT_THAT(none.status().message(), HasSubstr("no such device; there are: device 0"));
}

}  // namespace
}  // namespace sluice
