// What happens to everybody else when a daemon or a client is killed, or a daemon asks for what
// another has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Sends requests until it is told to stop, and remembers the first that failed.
class Load {
 public:
  Load(const RunningDaemon& daemon, const std::string& package)
      : client_(daemon.client("load")), thread_([this, package] { run(package); }) {}
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() { end(); }

  /// Until so many more were answered, or one was not.
  void wait_for_more(std::int64_t count) const {
    const std::int64_t from = num_answered_;
    while (num_answered_ < from + count && !has_failed_) std::this_thread::yield();
  }
  Status stop() {
    end();
    return first_error_;
  }

 private:
  void end() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void run(const std::string& package) {
    first_error_ = run_until_over(package);
    has_failed_ = !first_error_.is_ok();
  }
  Status run_until_over(const std::string& package) {
    const auto model = SLUICE_TRY(client_->load({}, package));
    while (!is_over_) {
      SLUICE_TRY(infer(*client_, model.info.handle, 1));
      ++num_answered_;
    }
    return ok_status();
  }

  std::unique_ptr<rpc::Client> client_;
  std::atomic<std::int64_t> num_answered_ = 0;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> has_failed_ = false;
  Status first_error_ = ok_status();
  std::thread thread_;  ///< last: it uses all of the above
};

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

TEST_F(SeveralDaemons, TwoServeOnWhenTheThirdIsKilledAndItsDevicesAreFreeAgain) {
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

  Load on_b(*b, package_);
  Load on_c(*c, package_);
  on_b.wait_for_more(20);
  on_c.wait_for_more(20);
  EXPECT_EQ(killed->end(SIGKILL), -SIGKILL);
  on_b.wait_for_more(50);
  on_c.wait_for_more(50);
  EXPECT_TRUE(on_b.stop().is_ok()) << on_b.stop().to_string();
  EXPECT_TRUE(on_c.stop().is_ok()) << on_c.stop().to_string();
  const auto late =
      rpc::Client::create({.address = killed->address(), .connect_timeout_ns = 50'000'000});
  EXPECT_EQ(infer(**late, model->info.handle, 1).status().code(), Code::kUnavailable);

  // Its socket and its lock files are still there; its successor takes them over.
  const auto successor = start(first);
  ASSERT_NE(successor, nullptr);
  EXPECT_EQ(successor->address(), killed->address());
  EXPECT_TRUE(successor->client("user")->load({}, package_).is_ok());
}

TEST_F(SeveralDaemons, ADeviceThatIsTakenIsRefusedWithItsOwnerNamed) {
  const auto owner = start(part("owner", {"0000:00:11.0"}));
  ASSERT_NE(owner, nullptr);
  const auto refused = RunningDaemon::start(folder_, part("second", {"0", "1"}));
  ASSERT_FALSE(refused.is_ok());
  const std::string& said = refused.status().message();
  EXPECT_THAT(said, HasSubstr(fmt::format("is served by sluiced, process {}, at {}",
                                          owner->process(), owner->address())));
  EXPECT_THAT(said, HasSubstr("0000:00:11.0"));
  EXPECT_THAT(said, HasSubstr("name other devices with -t"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "second.sock"));
  EXPECT_TRUE(owner->client("user")->load({}, package_).is_ok()) << "the owner serves on";
  // What the refused one had locked already is free.
  EXPECT_NE(start(part("third", {"0000:00:10.0"})), nullptr);
}

TEST_F(SeveralDaemons, ASocketThatIsServedIsRefusedEvenOnOtherDevices) {
  const auto owner = start(part("owner", {"0"}));
  ASSERT_NE(owner, nullptr);
  DaemonSetup second = part("second", {"1"});
  second.flags.insert(second.flags.end(), {"-g", owner->address()});
  const auto refused = RunningDaemon::start(folder_, second);
  ASSERT_FALSE(refused.is_ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("another sluiced serves it"));
  EXPECT_TRUE(owner->client("user")->load({}, package_).is_ok());
}

TEST_F(SeveralDaemons, DevicesThatAreNotConnectedOrNotThereAreRefused) {
  const auto refusal = [&](std::vector<std::string> devices) {
    const auto daemon = RunningDaemon::start(folder_, part("refused", std::move(devices)));
    return daemon.is_ok() ? std::string() : daemon.status().message();
  };
  EXPECT_THAT(refusal({"0", "2"}), HasSubstr("not connected"));
  EXPECT_THAT(refusal({"9"}), HasSubstr("-t 9: no such device; there are:"));
  EXPECT_THAT(refusal({"0000:00:1f.0"}), HasSubstr("-t 0000:00:1f.0: no such device"));
}

TEST_F(SeveralDaemons, AKilledClientGivesEverythingBackAndNobodyElseNotices) {
  const auto daemon = start({});
  ASSERT_NE(daemon, nullptr);
  Load beside(*daemon, package_);
  beside.wait_for_more(1);
  const auto admin = daemon->client();
  const std::int32_t before = admin->server()->num_free_cores;
  for (int i = 0; i < 3; ++i) {
    Program holder({build_path("test/daemon_holder").string(), daemon->address(), package_});
    ASSERT_THAT(holder.read_line(), HasSubstr("holding"));
    EXPECT_EQ(admin->server()->num_free_cores, before - 4);
    EXPECT_EQ(admin->list_sessions()->size(), 2U);
    EXPECT_EQ(holder.end(SIGKILL), -SIGKILL);
    while (admin->list_sessions()->size() > 1 || admin->server()->num_free_cores < before) {
      std::this_thread::yield();
    }
    EXPECT_EQ(admin->list_models()->size(), 1U);
    EXPECT_EQ(admin->list_groups()->size(), 1U);
  }
  beside.wait_for_more(20);
  const Status status = beside.stop();
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_THAT(daemon->output(), Not(HasSubstr("session.leak")));
}

}  // namespace
}  // namespace sluice::testing
