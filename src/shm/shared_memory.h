// Memory that a client makes to share it with a daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "shm/fd_socket.h"

namespace sluice::shm {

/// Mapped, pages take memory when they are first touched. Made here it is a memfd of fixed size,
/// zeroed. Move-only.
class SharedMemory {
 public:
  /// Fails: kInvalidArgument, kResourceExhausted.
  static Result<SharedMemory> create(std::int64_t size_bytes);
  /// Maps all of the POSIX shared memory `name`. For its creator only: if another process shrinks
  /// the memory, an access beyond the new end raises SIGBUS. Fails: kNotFound, kInvalidArgument.
  static Result<SharedMemory> open(const std::string& name);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  std::span<std::byte> memory() const { return memory_; }
  int fd() const { return fd_.get(); }

 private:
  SharedMemory(Fd fd, std::span<std::byte> memory) : fd_(std::move(fd)), memory_(memory) {}

  Fd fd_;
  std::span<std::byte> memory_;
};

}  // namespace sluice::shm
