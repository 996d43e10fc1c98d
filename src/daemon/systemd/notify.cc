#include "daemon/systemd/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace sluice::daemon {
namespace {

/// The number in an environment variable; 0 for none.
std::int64_t number_or_zero(const char* name) {
  const char* text = std::getenv(name);
  std::int64_t number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

Status notify_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || *path == '\0') return ok_status();
  sockaddr_un address = {};
  const std::size_t size = std::strlen(path);
  if (size >= sizeof(address.sun_path)) {
    return make_error(Code::kUnavailable, "NOTIFY_SOCKET has {} bytes, too many", size);
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, size);
  if (path[0] == '@') address.sun_path[0] = '\0';  // an abstract one
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return make_error(Code::kUnavailable, "socket: {}", std::strerror(errno));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  const ssize_t sent = sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), length);
  const int error = errno;
  close(fd);
  if (sent == static_cast<ssize_t>(state.size())) return ok_status();
  return make_error(Code::kUnavailable, "notifying {}: {}", path, std::strerror(error));
}

std::int64_t watchdog_ns() {
  const std::int64_t process = number_or_zero("WATCHDOG_PID");
  if (process != 0 && process != getpid()) return 0;
  return number_or_zero("WATCHDOG_USEC") * 1000;
}

}  // namespace sluice::daemon
