// cp.async: copies from device memory to shared memory that land when they like.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sluice::cuda::ptx {

/// One thread's copy. `size_bytes` of them come from device memory, zeros fill up to `bytes`.
struct AsyncCopy {
  std::uint64_t from = 0, to = 0;  ///< `to`: offset in shared memory
  std::uint32_t bytes = 0, size_bytes = 0;
  std::uint32_t line = 0;
  int lane = 0;
};

/// Copies of one warp that have not landed, by lane and group. A group that a lane closed waits
/// until the lane waits for it; then, or earlier by chance, its copies land.
class Copies {
 public:
  void add(const AsyncCopy& copy) {
    pending_.push_back({copy, closed_[static_cast<std::size_t>(copy.lane)]});
  }
  void close_group(int lane) { ++closed_[static_cast<std::size_t>(lane)]; }

  /// Takes the copies of the mask's lanes that are not among a lane's `newest` closed groups, in
  /// the order in which they were added. With `all`, takes all copies of these lanes.
  std::vector<AsyncCopy> take(std::uint32_t mask, std::uint64_t newest, bool all);

 private:
  struct Pending {
    AsyncCopy copy;
    std::uint64_t group = 0;
  };
  std::vector<Pending> pending_;
  std::array<std::uint64_t, 32> closed_{};  ///< groups, of each lane
};

}  // namespace sluice::cuda::ptx
