// The memory that a daemon shares with one worker: a ring, and behind it room for tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "shm/fd_socket.h"
#include "shm/region.h"

namespace sluice::worker {

/// Addresses, not memory: pages come as they are used. A request and its answer must fit.
inline constexpr std::uint64_t kArenaBytes = std::uint64_t{1} << 36;
/// Requests, cancellations and the rest of long answers that are on their way at a time.
inline constexpr std::uint32_t kRingEntries = 1024;

/// The daemon's side, which hands out the room. Safe across threads. Blocks keep it alive.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  /// With an empty ring at its beginning. Hands out no more than `limit_bytes`: how much a worker
  /// answers is the worker's to say. Fails: kResourceExhausted.
  static Result<std::shared_ptr<Arena>> create(std::uint64_t limit_bytes = default_max_bytes());
  /// A quarter of the memory that this process may use.
  static std::uint64_t default_max_bytes();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() = default;

  int fd() const { return fd_.get(); }
  std::span<std::byte> memory() const { return region_->mapped(); }

  /// A block of the arena; the destructor returns it. Move-only.
  class Block {
   public:
    Block() = default;
    Block(std::shared_ptr<Arena> arena, std::uint64_t offset, std::uint64_t size_bytes)
        : arena_(std::move(arena)), offset_(offset), size_bytes_(size_bytes) {}
    Block(Block&& other) noexcept = default;
    Block& operator=(Block&& other) noexcept;
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block() { reset(); }

    std::uint64_t offset() const { return offset_; }
    std::uint64_t size_bytes() const { return size_bytes_; }
    std::span<std::byte> memory() const { return arena_->memory().subspan(offset_, size_bytes_); }

   private:
    void reset();
    std::shared_ptr<Arena> arena_;
    std::uint64_t offset_ = 0;
    std::uint64_t size_bytes_ = 0;
  };

  /// First fit, so that what is touched stays small; aligned to 64. The pages are there when this
  /// returns: writing to them raises no signal. Fails: kResourceExhausted.
  Result<Block> allocate(std::int64_t size_bytes);

 private:
  Arena(shm::Fd fd, std::shared_ptr<shm::Region> region, std::uint64_t limit_bytes);
  void release(std::uint64_t offset, std::uint64_t size_bytes);
  Status back(std::uint64_t end);
  void trim();

  const shm::Fd fd_;
  const std::shared_ptr<shm::Region> region_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> free_;  ///< size by offset; neighbours are joined
  std::uint64_t backed_end_ = 0;                 ///< pages before it are there
};

}  // namespace sluice::worker
