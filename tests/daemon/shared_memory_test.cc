// Clients that share memory with a sluiced of its own process and die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"

namespace sluice {
namespace {

using sluice::testing::infer;
using sluice::testing::Program;
using sluice::testing::RunningDaemon;
using sluice::testing::TempDir;
using sluice::testing::write_model;
using ::testing::ElementsAre;

/// What a process has open, mapped of clients' memory, and running.
struct Held {
  std::ptrdiff_t fds = 0;
  std::ptrdiff_t mappings = 0;
  std::ptrdiff_t sessions = 0;

  static Held of(pid_t process, rpc::client::Client& client) {
    const std::string folder = "/proc/" + std::to_string(process);
    const std::filesystem::directory_iterator fds(folder + "/fd");
    std::ifstream maps(folder + "/maps");
    std::string line;
    Held held;
    held.fds = std::distance(begin(fds), end(fds));
    while (std::getline(maps, line)) {
      if (line.find("sluice-shared") != std::string::npos) ++held.mappings;
    }
    held.sessions = static_cast<std::ptrdiff_t>(client.list_sessions().value().size());
    return held;
  }
  bool is_within(const Held& other) const {
    return fds <= other.fds && mappings <= other.mappings && sessions <= other.sessions;
  }
};

TEST(SharedMemoryOfDeadClients, IsReleasedWithoutAffectingOthers) {
  const TempDir folder;
  auto daemon = RunningDaemon::start(folder);
  ASSERT_TRUE(daemon.is_ok()) << daemon.status().to_string();
  const auto other = (*daemon)->client("other");
  const auto nobody = (*daemon)->client();
  service::ModelOptions load;
  load.depth = 4;
  const auto model = nobody->upload(load, write_model(folder, "m", {1}));
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  const std::uint64_t handle = model->info.handle;
  const std::string sharer = sluice::testing::build_path("test/daemon_sharer").string();
  Held before;
  for (int i = 0; i < 10; ++i) {
    {
      Program client({sharer, (*daemon)->address(), std::to_string(handle)});
      ASSERT_EQ(client.read_line(), "asking");
      EXPECT_THAT(infer(*other, handle, 2).value(), ElementsAre(3, 0, 5, 0));
      client.end(SIGKILL);
    }
    EXPECT_THAT(infer(*other, handle, 2).value(), ElementsAre(3, 0, 5, 0));
    // The first session makes the daemon's threads and pools. The daemon may still hold memory of
    // that session.
    while (nobody->list_sessions()->size() > 1) std::this_thread::yield();
    if (i == 0) before = Held::of((*daemon)->process(), *nobody);
  }
  Held after = Held::of((*daemon)->process(), *nobody);
  while (!after.is_within(before)) after = Held::of((*daemon)->process(), *nobody);
  std::printf("fds %td, shared mappings %td, sessions %td afterwards\n", after.fds, after.mappings,
              after.sessions);
  EXPECT_EQ((*daemon)->end(SIGTERM), 0);
}

TEST(SharedMemoryOfDeadDaemons, EndsTheCallsOfItsClients) {
  const TempDir folder;
  auto daemon = RunningDaemon::start(folder);
  ASSERT_TRUE(daemon.is_ok()) << daemon.status().to_string();
  const auto client = (*daemon)->client("c");
  const auto model = client->upload({}, write_model(folder, "m", {1}));
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_TRUE(infer(*client, model->info.handle, 2).is_ok());
  (*daemon)->end(SIGKILL);
  EXPECT_EQ(infer(*client, model->info.handle, 2).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace sluice
