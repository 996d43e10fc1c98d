// Memory that a client makes to share it with a daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "shm/fd_socket.h"

namespace sluice::shm {

/// A mapped memfd of fixed size, zeroed; pages take memory when they are first touched. Move-only.
class SharedMemory {
 public:
  /// Fails: kInvalidArgument, kResourceExhausted.
  static Result<SharedMemory> create(std::int64_t size_bytes);
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
