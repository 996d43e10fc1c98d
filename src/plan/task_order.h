// Which tasks of a range certainly end before which others start.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::plan {

/// Kernels of one group of cores that run one after another, recorded as one command list.
struct Task {
  std::int32_t lane = 0;  ///< index of the group of cores that runs it
  std::vector<std::int32_t>
      after;        ///< tasks that end before it starts, smaller indices than its own
  double rank = 0;  ///< work from its start to the end of the range on the longest way
};

/// The transitive closure of `Task::after`. O(tasks^2) bits.
class TaskOrder {
 public:
  explicit TaskOrder(std::span<const Task> tasks);

  bool is_before(std::int32_t first, std::int32_t second) const {
    const auto bit = static_cast<std::size_t>(first);
    return (before_[static_cast<std::size_t>(second) * words_ + bit / 64] >> (bit % 64) & 1U) != 0;
  }
  bool are_ordered(std::int32_t a, std::int32_t b) const {
    return a == b || is_before(a, b) || is_before(b, a);
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> before_;  ///< by task: a bit for each task before it
};

}  // namespace sluice::plan
