// Clients that share memory with a sluiced of its own process and die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"
#include "support/eventually.h"
#include "support/process.h"

namespace sluice {
namespace {

using sluice::testing::eventually;
using sluice::testing::figures_of;
using sluice::testing::infer;
using sluice::testing::ProcessFigures;
using sluice::testing::Program;
using sluice::testing::RunningDaemon;
using sluice::testing::TempDir;
using sluice::testing::write_model;
using ::testing::ElementsAre;

TEST(SharedMemoryOfDeadClients, IsReleasedWithoutAffectingOthers) {
  const TempDir folder;
  auto daemon = RunningDaemon::start(folder);
  ASSERT_TRUE(daemon.is_ok()) << daemon.status().to_string();
  const auto other = (*daemon)->client("other");
  const auto nobody = (*daemon)->client();
  terms::LoadOptions load;
  load.depth = 4;
  const auto model = nobody->upload(load, write_model(folder, "m", {1}));
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  const std::uint64_t handle = model->info.handle;
  const std::string sharer = sluice::testing::build_path("test/daemon_sharer").string();
  constexpr int kClients = 10;
  ProcessFigures before;
  for (int i = 0; i < kClients; ++i) {
    {
      Program client({sharer, (*daemon)->address(), std::to_string(handle)});
      ASSERT_EQ(client.read_line(), "asking");
      EXPECT_THAT(infer(*other, handle, 2).value(), ElementsAre(3, 0, 5, 0));
      client.end(SIGKILL);
    }
    EXPECT_THAT(infer(*other, handle, 2).value(), ElementsAre(3, 0, 5, 0));
    // The first session makes the daemon's threads and pools. The daemon may still hold memory of
    // that session.
    EXPECT_TRUE(eventually([&] { return nobody->list_sessions()->size() <= 1; }));
    if (i == 0) before = figures_of((*daemon)->process());
  }
  // Pools may grow a little still, but not by something of every client.
  ProcessFigures after;
  EXPECT_TRUE(eventually([&] {
    after = figures_of((*daemon)->process());
    return after.num_fds < before.num_fds + kClients - 1 && after.num_shared <= before.num_shared;
  })) << before.num_fds
      << " descriptors and " << before.num_shared << " shared mappings became " << after.num_fds
      << " and " << after.num_shared;
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
