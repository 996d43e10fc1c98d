#include "shm/fd_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sluice::shm {
namespace {

/// More than anybody sends; the kernel closes what does not fit.
constexpr std::size_t kMaxFds = 4;

// The alignment of cmsghdr, which CMSG_FIRSTHDR requires.
union ControlBuffer {
  cmsghdr align;
  std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> bytes;
};

Fd first_fd(msghdr& message) {
  Fd first;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      // CMSG_DATA need not be aligned for an int.
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      Fd fd(number);
      // Others are closed here: a peer that sends several must not fill the table of descriptors.
      if (!first.is_valid()) first = std::move(fd);
    }
  }
  return first;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

Result<Fd> connect_unix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // The path needs its NUL within sun_path.
  if (path.size() >= sizeof(address.sun_path)) {
    return invalid_argument("socket {}: the path is longer than the {} bytes that the system takes",
                            path, sizeof(address.sun_path) - 1);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_valid() ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return make_error(Code::kUnavailable, "socket {}: {}", path, std::strerror(errno));
  }
  return fd;
}

Status send_with_fd(int socket, std::span<const std::byte> bytes, int fd) {
  bool has_fd = fd >= 0;
  while (!bytes.empty()) {
    iovec data = {const_cast<std::byte*>(bytes.data()),  // NOLINT: read only
                  bytes.size()};
    ControlBuffer control = {};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (has_fd) {
      message.msg_control = control.bytes.data();
      message.msg_controllen = CMSG_SPACE(sizeof(int));
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(part), &fd, sizeof(int));
    }
    // A peer that is gone is an error here, not SIGPIPE.
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) {
      return make_error(Code::kUnavailable, "sending to a socket: {}", std::strerror(errno));
    }
    // The descriptor went with the first bytes.
    has_fd = false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return ok_status();
}

Received receive_with_fd(int socket, std::span<std::byte> into) {
  iovec data = {into.data(), into.size()};
  ControlBuffer control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  Received received;
  if (count < 0) {
    received.is_closed = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    return received;
  }
  received.fd = first_fd(message);
  received.num_bytes = static_cast<std::size_t>(count);
  received.is_closed = count == 0;
  return received;
}

}  // namespace sluice::shm
