// File descriptors sent over a Unix socket, beside bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace sluice::shm {

/// Owns a file descriptor; -1 for none. Move-only.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();

  int get() const { return fd_; }
  bool is_valid() const { return fd_ >= 0; }
  /// The caller closes it from now on.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// A connected, blocking stream socket. Fails: kUnavailable if nobody listens there;
/// kInvalidArgument for a path that is too long.
Result<Fd> connect_unix(const std::string& path);

/// Sends all of `bytes` and, with the first of them, `fd`; -1 for none. Blocks.
/// Fails: kUnavailable.
Status send_with_fd(int socket, std::span<const std::byte> bytes, int fd);

struct Received {
  std::size_t num_bytes = 0;  ///< 0: nothing is there now
  Fd fd;                      ///< the first that came; more are closed
  bool is_closed = false;     ///< the other end is, or the connection is broken
};

/// What is there, without waiting for more. Descriptors that came are close-on-exec.
Received receive_with_fd(int socket, std::span<std::byte> into);

}  // namespace sluice::shm
