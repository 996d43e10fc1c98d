#include "daemon/systemd/inherited_sockets.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "support/paths.h"

namespace sluice::daemon {
namespace {

using ::testing::HasSubstr;

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

void hand_over(int count, pid_t process) {
  setenv("LISTEN_PID", std::to_string(process).c_str(), 1);
  setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
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

std::string refusal() {
  const auto sockets = take_inherited_sockets();
  return sockets.is_ok() ? "" : sockets.status().message();
}

TEST(InheritedSockets, AreFoundByTheirPathsAndTakenOutOfTheEnvironment) {
  const sluice::testing::TempDir folder;
  in_a_child([&]() -> std::string {
    listen_at(3, (folder / "a").string());
    listen_at(4, (folder / "b").string());
    hand_over(2, getpid());
    const auto sockets = take_inherited_sockets();
    if (!sockets.is_ok()) return sockets.status().message();
    const std::map<std::string, int> wanted = {{(folder / "a").string(), 3},
                                               {(folder / "b").string(), 4}};
    if (*sockets != wanted) return "other sockets";
    if ((fcntl(3, F_GETFL) & O_NONBLOCK) == 0) return "an accept may block";
    return take_inherited_sockets()->empty() ? "" : "they are there twice";
  });
}

TEST(InheritedSockets, SocketsOfAnotherProcessAreIgnored) {
  in_a_child([]() -> std::string {
    hand_over(1, 1);
    const auto sockets = take_inherited_sockets();
    return sockets.is_ok() && sockets->empty() ? "" : "taken";
  });
}

TEST(InheritedSockets, NonListeningSocketsAreRefused) {
  in_a_child([]() -> std::string {
    dup2(open("/dev/null", O_RDONLY), 3);
    hand_over(1, getpid());
    return refusal().find("not a listening Unix socket") == std::string::npos ? "taken" : "";
  });
  in_a_child([]() -> std::string {
    dup2(socket(AF_INET, SOCK_STREAM, 0), 3);
    listen(3, 1);
    hand_over(1, getpid());
    return refusal().find("not a listening Unix socket") == std::string::npos ? "taken" : "";
  });
  in_a_child([]() -> std::string {
    hand_over(1000, getpid());
    return refusal().find("at most 64") == std::string::npos ? "taken" : "";
  });
}

}  // namespace
}  // namespace sluice::daemon
