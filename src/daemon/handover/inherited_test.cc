#include "daemon/handover/inherited.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/paths.h"

namespace sluice::daemon {
namespace {

/// A manager's environment; its sockets are at 3 and up, as in a process that it starts. Run in a
/// child, whose file descriptors and environment are its own.
template <typename Claim>
void in_a_child(const Claim& claim) {
  EXPECT_EXIT(
      {
        const std::string wrong = claim();
        std::fputs(wrong.c_str(), stderr);
        _exit(wrong.empty() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

void hand_over(int count, pid_t process, const char* names = "") {
  setenv("LISTEN_PID", std::to_string(process).c_str(), 1);
  setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
  setenv("LISTEN_FDNAMES", names, 1);
}

void listen_at(int fd, const std::string& path) {
  const int made = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  listen(made, 1);
  dup2(made, fd);
}

void listen_on_loopback(int fd) {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  listen(made, 1);
  dup2(made, fd);
}

std::string refusal() {
  const auto all = take_inheritance();
  return all.is_ok() ? "" : all.status().message();
}

TEST(Inherited, SocketsComeWithTheirNames) {
  const sluice::testing::TempDir folder;
  in_a_child([&]() -> std::string {
    listen_at(3, (folder / "a").string());
    listen_on_loopback(4);
    hand_over(2, getpid(), "sluiced.socket:http");
    auto all = take_inheritance();
    if (!all.is_ok()) return all.status().message();
    if (all->report_fd >= 0 || all->addresses.size() != 2) return "other sockets";
    const InheritedAddress& local = all->addresses[0];
    if (local.name != "sluiced.socket" || local.address != "unix:" + (folder / "a").string())
      return "a";
    if (all->addresses[1].name != "http" || !all->addresses[1].is_managed) return "http";
    if ((fcntl(3, F_GETFL) & O_NONBLOCK) == 0) return "an accept may block";
    if (all->fds.claim_socket(local.address).fd != 3) return "not there";
    return take_inheritance()->addresses.empty() ? "" : "they are there twice";
  });
}

TEST(Inherited, SocketsOfAnotherProcessAreIgnored) {
  in_a_child([]() -> std::string {
    hand_over(1, 1);
    const auto all = take_inheritance();
    return all.is_ok() && all->addresses.empty() ? "" : "taken";
  });
}

TEST(Inherited, LocksAndManagedSocketsComeFromAPredecessor) {
  const sluice::testing::TempDir folder;
  in_a_child([&]() -> std::string {
    listen_at(3, (folder / "a").string());
    listen_on_loopback(4);
    dup2(open((folder / "lock").c_str(), O_CREAT | O_RDWR, 0600), 5);
    dup2(open("/dev/null", O_WRONLY), 6);
    hand_over(4, 1, "managed-listen:http:lock:report");
    setenv(kPredecessorVariable, std::to_string(getppid()).c_str(), 1);
    setenv("WATCHDOG_PID", "1", 1);
    auto all = take_inheritance();
    if (!all.is_ok()) return all.status().message();
    if (all->report_fd != 6 || all->addresses.size() != 2) return "other sockets";
    if (!all->addresses[0].is_managed || all->addresses[0].name != "listen") return "managed";
    if (all->addresses[1].is_managed) return "http is the daemon's own";
    if (all->fds.claim_file(folder / "lock") != 5) return "no lock";
    return std::getenv("WATCHDOG_PID") == nullptr ? "" : "the watchdog is another's";
  });
}

TEST(Inherited, OtherDescriptorsAreRefused) {
  in_a_child([]() -> std::string {
    dup2(open("/dev/null", O_RDONLY), 3);
    hand_over(1, getpid());
    return refusal().find("not a stream socket") == std::string::npos ? "taken" : "";
  });
  in_a_child([]() -> std::string {
    hand_over(2000, getpid());
    return refusal().find("at most 1024") == std::string::npos ? "taken" : "";
  });
}

}  // namespace
}  // namespace sluice::daemon
