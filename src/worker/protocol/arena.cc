#include "worker/protocol/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/process/memory_limit.h"
#include "shm/ring_client.h"
#include "terms/runtime_code.h"

namespace sluice::worker {
namespace {

constexpr std::uint64_t kBlockAlignment = 64;
/// Pages are asked for, and given back, so many at a time.
constexpr std::uint64_t kStepBytes = std::uint64_t{1} << 20;
/// Kept when nobody uses the arena.
constexpr std::uint64_t kKeptBytes = std::uint64_t{16} << 20;

/// Enough for small tensors, whatever the limit.
constexpr std::uint64_t kLeastBytes = std::uint64_t{16} << 20;

constexpr std::uint64_t rounded(std::uint64_t size, std::uint64_t step) {
  return (size + step - 1) / step * step;
}
constexpr std::uint64_t kFirst = rounded(shm::ring_bytes(kRingEntries), kStepBytes);

Status no_memory(std::uint64_t size_bytes, std::string_view why) {
  return terms::runtime_error(RuntimeCode::kOutOfResources,
                              "no shared memory for {} bytes of a worker's: {}", size_bytes, why);
}

}  // namespace

std::uint64_t Arena::default_max_bytes() {
  return static_cast<std::uint64_t>(usable_memory_bytes()) / 4;
}

// The arena is a file in memory that the daemon and a worker map:
//
//   0      kFirst                   backed_end_                       kArenaBytes
//   | ring | blocks and free ranges | no pages yet: they come in steps |
//
// `free_` has offset and size of each free range; no two of them touch.
Result<std::shared_ptr<Arena>> Arena::create(std::uint64_t limit_bytes) {
  shm::Fd fd(memfd_create("sluice-worker", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Sealed, since the worker has the descriptor too: it must not shrink what the daemon reads.
  if (!fd.is_valid() || ftruncate(fd.get(), static_cast<off_t>(kArenaBytes)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return no_memory(kArenaBytes, std::strerror(errno));
  }
  auto region = SLUICE_TRY(shm::Region::adopt(fd.get(), kArenaBytes));
  std::shared_ptr<Arena> arena(new Arena(std::move(fd), std::move(region), limit_bytes));
  SLUICE_TRY(arena->back(kFirst));
  shm::RingClient::format(arena->memory(), kRingEntries);
  return arena;
}

Arena::Arena(shm::Fd fd, std::shared_ptr<shm::Region> region, std::uint64_t limit_bytes)
    : fd_(std::move(fd)), region_(std::move(region)) {
  madvise(memory().data(), memory().size(), MADV_DONTDUMP);
  free_[kFirst] = std::clamp(limit_bytes, kLeastBytes, kArenaBytes - kFirst);
}

Status Arena::back(std::uint64_t end) {
  if (end <= backed_end_) return ok_status();
  const std::uint64_t wanted = std::min(rounded(end, kStepBytes), kArenaBytes);
  while (fallocate(fd_.get(), 0, static_cast<off_t>(backed_end_),
                   static_cast<off_t>(wanted - backed_end_)) != 0) {
    if (errno != EINTR) return no_memory(wanted - backed_end_, std::strerror(errno));
  }
  backed_end_ = wanted;
  return ok_status();
}

Result<Arena::Block> Arena::allocate(std::int64_t size_bytes) {
  const auto size =
      rounded(static_cast<std::uint64_t>(std::max<std::int64_t>(size_bytes, 1)), kBlockAlignment);
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find_if(free_, [&](const auto& one) { return one.second >= size; });
  if (it == free_.end()) return no_memory(size, "all of it is in use");
  const auto [offset, free_bytes] = *it;
  SLUICE_TRY(back(offset + size));
  free_.erase(it);
  if (free_bytes > size) free_[offset + size] = free_bytes - size;
  return Block(shared_from_this(), offset, size);
}

void Arena::release(std::uint64_t offset, std::uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  // Joined with its free neighbours.
  auto it = free_.emplace(offset, size_bytes).first;
  const auto next = std::next(it);
  if (next != free_.end() && it->first + it->second == next->first) {
    it->second += next->second;
    free_.erase(next);
  }
  if (it != free_.begin()) {
    const auto before = std::prev(it);
    if (before->first + before->second == it->first) {
      before->second += it->second;
      free_.erase(it);
    }
  }
  trim();
}

/// Returns the memory of a burst once it is unused.
void Arena::trim() {
  const std::uint64_t keep = kFirst + kKeptBytes;
  // Nothing is allocated if all behind the ring is one free range.
  if (backed_end_ <= keep || free_.size() != 1 || free_.begin()->first != kFirst) return;
  if (fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(keep),
                static_cast<off_t>(backed_end_ - keep)) == 0) {
    backed_end_ = keep;
  }
}

Arena::Block& Arena::Block::operator=(Block&& other) noexcept {
  if (this == &other) return *this;
  reset();
  arena_ = std::move(other.arena_);
  offset_ = other.offset_;
  size_bytes_ = other.size_bytes_;
  return *this;
}

void Arena::Block::reset() {
  if (arena_ != nullptr) arena_->release(offset_, size_bytes_);
  arena_ = nullptr;
}

}  // namespace sluice::worker
