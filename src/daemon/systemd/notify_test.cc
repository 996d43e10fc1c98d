#include "daemon/systemd/notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "support/paths.h"

namespace sluice::daemon {
namespace {

TEST(Notify, ManagerGetsTheStateAsOneDatagram) {
  const sluice::testing::TempDir folder;
  const std::string path = (folder / "notify").string();
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  EXPECT_TRUE(notify_manager("READY=1\nSTATUS=x").is_ok());
  std::array<char, 64> text = {};
  ASSERT_EQ(recv(fd, text.data(), text.size(), MSG_DONTWAIT), 16);
  EXPECT_STREQ(text.data(), "READY=1\nSTATUS=x");
  close(fd);
  unlink(path.c_str());
  EXPECT_EQ(notify_manager("READY=1").code(), Code::kUnavailable);
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(notify_manager("READY=1").is_ok()) << "nobody to tell";
}

TEST(Notify, WatchdogOfAnotherProcessIsIgnored) {
  setenv("WATCHDOG_USEC", "2000", 1);
  EXPECT_EQ(watchdog_ns(), 2'000'000);
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(watchdog_ns(), 0) << "another's";
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(watchdog_ns(), 2'000'000);
  unsetenv("WATCHDOG_PID");
  setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_EQ(watchdog_ns(), 0);
  unsetenv("WATCHDOG_USEC");
}

}  // namespace
}  // namespace sluice::daemon
