// What happens to everybody else when a daemon or a client is killed, or a daemon asks for what
// another has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"
#include "daemon/steady_requests.h"
#include "support/eventually.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Requests to a model that the daemon loads for them, in a session of their own.
std::unique_ptr<SteadyRequests> steady_requests(const RunningDaemon& daemon,
                                                const std::string& package) {
  auto client = daemon.client("load");
  const auto model = client->load({}, package);
  EXPECT_TRUE(model.is_ok()) << model.status().to_string();
  const std::uint64_t handle = model.is_ok() ? model->info.handle : 0;
  return std::make_unique<SteadyRequests>(std::move(client), handle);
}

DaemonSetup part(const std::string& name, std::vector<std::string> devices) {
  DaemonSetup setup;
  setup.name = name;
  for (std::string& device : devices) {
    setup.flags.insert(setup.flags.end(), {"-t", std::move(device)});
  }
  return setup;
}

class SeveralDaemons : public ::testing::Test {
 protected:
  std::unique_ptr<RunningDaemon> start(const DaemonSetup& setup) {
    auto daemon = RunningDaemon::start(folder_, setup);
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    return daemon.is_ok() ? std::move(*daemon) : nullptr;
  }

  TempDir folder_;
  const std::string package_ = write_model(folder_, "one", {1});
};

TEST_F(SeveralDaemons, KilledDaemonFreesItsDevicesAndOthersServeOn) {
  const DaemonSetup first = part("a", {"0000:00:10.0"});
  auto killed = start(first);
  const auto b = start(part("b", {"0000:00:11.0"}));
  const auto c = start(part("c", {"2", "3"}));
  ASSERT_TRUE(killed && b && c);
  EXPECT_EQ(killed->client()->server()->num_cores, 4);
  EXPECT_EQ(c->client()->server()->num_cores, 8);
  const auto orphan = killed->client("orphan");
  const auto model = orphan->load({}, package_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();

  const auto on_b = steady_requests(*b, package_);
  const auto on_c = steady_requests(*c, package_);
  on_b->wait_for_more(20);
  on_c->wait_for_more(20);
  EXPECT_EQ(killed->end(SIGKILL), -SIGKILL);
  on_b->wait_for_more(50);
  on_c->wait_for_more(50);
  EXPECT_TRUE(on_b->stop().is_ok()) << on_b->stop().to_string();
  EXPECT_TRUE(on_c->stop().is_ok()) << on_c->stop().to_string();
  const auto late =
      rpc::client::Client::create({.address = killed->address(), .connect_timeout_ns = 50'000'000});
  EXPECT_EQ(infer(**late, model->info.handle, 1).status().code(), Code::kUnavailable);

  // Its socket and its lock files are still there; its successor takes them over.
  const auto successor = start(first);
  ASSERT_NE(successor, nullptr);
  EXPECT_EQ(successor->address(), killed->address());
  EXPECT_TRUE(successor->client("user")->load({}, package_).is_ok());
}

TEST_F(SeveralDaemons, DeviceThatIsTakenIsRefusedWithItsOwnerNamed) {
  const auto owner = start(part("owner", {"0000:00:11.0"}));
  ASSERT_NE(owner, nullptr);
  const auto refused = RunningDaemon::start(folder_, part("second", {"0", "1"}));
  ASSERT_FALSE(refused.is_ok());
  const std::string& said = refused.status().message();
  EXPECT_THAT(said, HasSubstr(fmt::format("is served by sluiced, process {}, at {}",
                                          owner->process(), owner->address())));
  EXPECT_THAT(said, HasSubstr("0000:00:11.0"));
  EXPECT_THAT(said, HasSubstr("name other devices (sluiced --devices)"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "second.sock"));
  EXPECT_TRUE(owner->client("user")->load({}, package_).is_ok()) << "the owner serves on";
  // What the refused one had locked already is free.
  EXPECT_NE(start(part("third", {"0000:00:10.0"})), nullptr);
}

TEST_F(SeveralDaemons, SocketThatIsServedIsRefusedEvenOnOtherDevices) {
  const auto owner = start(part("owner", {"0"}));
  ASSERT_NE(owner, nullptr);
  DaemonSetup second = part("second", {"1"});
  second.flags.insert(second.flags.end(), {"-g", owner->address()});
  const auto refused = RunningDaemon::start(folder_, second);
  ASSERT_FALSE(refused.is_ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("another sluiced serves it"));
  EXPECT_TRUE(owner->client("user")->load({}, package_).is_ok());
}

TEST_F(SeveralDaemons, UnconnectedAndUnknownDevicesAreRefused) {
  const auto refusal = [&](std::vector<std::string> devices) {
    const auto daemon = RunningDaemon::start(folder_, part("refused", std::move(devices)));
    return daemon.is_ok() ? std::string() : daemon.status().message();
  };
  EXPECT_THAT(refusal({"0", "2"}), HasSubstr("not connected"));
  EXPECT_THAT(refusal({"9"}), HasSubstr("-t 9: no such device; there are:"));
  EXPECT_THAT(refusal({"0000:00:1f.0"}), HasSubstr("-t 0000:00:1f.0: no such device"));
}

TEST_F(SeveralDaemons, KilledClientReleasesEverythingWithoutAffectingOthers) {
  const auto daemon = start({});
  ASSERT_NE(daemon, nullptr);
  const auto beside = steady_requests(*daemon, package_);
  beside->wait_for_more(1);
  const auto admin = daemon->client();
  const std::int32_t before = admin->server()->num_free_cores;
  for (int i = 0; i < 3; ++i) {
    Program holder({build_path("test/daemon_holder").string(), daemon->address(), package_});
    ASSERT_THAT(holder.read_line(), HasSubstr("holding"));
    EXPECT_EQ(admin->server()->num_free_cores, before - 4);
    EXPECT_EQ(admin->list_sessions()->size(), 2U);
    EXPECT_EQ(holder.end(SIGKILL), -SIGKILL);
    EXPECT_TRUE(eventually([&] {
      return admin->list_sessions()->size() <= 1 && admin->server()->num_free_cores >= before;
    }));
    EXPECT_EQ(admin->list_models()->size(), 1U);
    EXPECT_EQ(admin->list_groups()->size(), 1U);
  }
  beside->wait_for_more(20);
  const Status status = beside->stop();
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_THAT(daemon->output(), Not(HasSubstr("session.leak")));
}

}  // namespace
}  // namespace sluice::testing
