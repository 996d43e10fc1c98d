#include "daemon/systemd/inherited_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace sluice::daemon {
namespace {

// The first descriptor that is handed over, by sd_listen_fds(3).
constexpr int kFirstFd = 3;
constexpr int kMaxSockets = 64;

/// -1 for what is no number.
int number_in(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return -1;
  int number = -1;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc() && stop == end ? number : -1;
}

int option_of(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

Result<std::string> path_of(int fd) {
  const bool is_unix = option_of(fd, SO_DOMAIN) == AF_UNIX;
  if (!is_unix || option_of(fd, SO_TYPE) != SOCK_STREAM || option_of(fd, SO_ACCEPTCONN) != 1) {
    return invalid_argument(
        "file descriptor {} of the service manager is not a listening Unix socket; in the .socket "
        "unit only ListenStream=/PATH is for sluiced, and other addresses go to \"listen\"",
        fd);
  }
  sockaddr_un address = {};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      address.sun_path[0] != '/') {
    return invalid_argument(
        "file descriptor {} of the service manager has no path; give ListenStream= an absolute one",
        fd);
  }
  return std::string(address.sun_path, strnlen(address.sun_path, sizeof(address.sun_path)));
}

}  // namespace

Result<std::map<std::string, int>> take_inherited_sockets() {
  const int process = number_in("LISTEN_PID");
  const int count = number_in("LISTEN_FDS");
  // Children inherit the environment, and must not take the sockets for theirs.
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(name);
  std::map<std::string, int> sockets;
  // Variables of an ancestor, whose descriptors are not here.
  if (process != getpid() || count <= 0) return sockets;
  if (count > kMaxSockets) {
    return invalid_argument("the service manager hands over {} sockets, at most {} are taken",
                            count, kMaxSockets);
  }
  for (int fd = kFirstFd; fd < kFirstFd + count; ++fd) {
    sockets[SLUICE_TRY(path_of(fd))] = fd;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  return sockets;
}

}  // namespace sluice::daemon
