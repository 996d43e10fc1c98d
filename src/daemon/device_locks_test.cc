#include "daemon/device_locks.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/paths.h"

namespace sluice::daemon {
namespace {

using ::testing::HasSubstr;

/// A device of this kind at an address that no other process names.
topology::DeviceMap one(const std::string& kind, int function = 0) {
  topology::DeviceMap map;
  terms::Device device;
  device.kind = kind;
  device.name = "pretended";
  device.bus_address = fmt::format("{:04x}:ff:1f.{}", getpid() & 0xFFFF, function);
  map.devices = {device};
  return map;
}

TEST(DeviceLocks, HoldAcrossLockFolders) {
  const sluice::testing::TempDir a;
  const sluice::testing::TempDir b;
  auto first = DeviceLocks::take(a.path(), one("gpu"), "first");
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  const Status second = DeviceLocks::take(b.path(), one("gpu"), "second").status();
  EXPECT_EQ(second.code(), Code::kAlreadyExists);
  EXPECT_THAT(second.message(),
              HasSubstr(fmt::format("is served by process {} of user {}", getpid(), getuid())));
  EXPECT_TRUE(DeviceLocks::take(b.path(), one("gpu", 1), "beside").is_ok());
  *first = DeviceLocks();
  EXPECT_TRUE(DeviceLocks::take(b.path(), one("gpu"), "second").is_ok());
}

TEST(DeviceLocks, SimulatedDevicesExistOncePerDaemon) {
  const sluice::testing::TempDir a;
  const sluice::testing::TempDir b;
  const auto first = DeviceLocks::take(a.path(), one("sim"), "first");
  EXPECT_TRUE(first.is_ok());
  EXPECT_TRUE(DeviceLocks::take(b.path(), one("sim"), "second").is_ok());
  EXPECT_THAT(DeviceLocks::take(a.path(), one("sim"), "third").status().message(),
              HasSubstr("is served by first"));
}

TEST(DeviceLocks, KilledProcessesHoldNone) {
  const sluice::testing::TempDir a;
  const sluice::testing::TempDir b;
  const topology::DeviceMap devices = one("gpu");
  int told[2] = {};
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto locks = DeviceLocks::take(a.path(), devices, "child");
    const char is_ok = locks.is_ok() ? 1 : 0;
    const ssize_t written = write(told[1], &is_ok, 1);
    (void)written;
    pause();
    _exit(0);
  }
  char has_locked = 0;
  ASSERT_EQ(read(told[0], &has_locked, 1), 1);
  EXPECT_EQ(has_locked, 1);
  EXPECT_THAT(DeviceLocks::take(b.path(), devices, "second").status().message(),
              HasSubstr(fmt::format("process {}", child)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(DeviceLocks::take(b.path(), devices, "second").is_ok());
  EXPECT_TRUE(DeviceLocks::take(a.path(), devices, "third").is_ok()) << "its file is stale";
  close(told[0]);
  close(told[1]);
}

}  // namespace
}  // namespace sluice::daemon
