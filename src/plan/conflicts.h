// Which pieces of memory are in use at the same time, and so may not share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/task_order.h"

namespace sluice::plan {

/// How long one piece of memory is needed.
struct Lifetime {
  std::int32_t first_step = 0;  ///< step that writes it first; steps count from 0
  std::int32_t last_step = 0;   ///< last step that reads or writes it, inclusive
  std::int64_t size_bytes = 0;  ///< before padding; 0 takes no room
};

/// A step that reads or writes a piece of memory.
struct Touch {
  std::int32_t task = 0;  ///< kAfterAllTasks for a step that runs when all tasks have ended
  std::int32_t step = 0;
};
inline constexpr std::int32_t kAfterAllTasks = -1;

/// A relation on the pieces of memory of `lifetimes`, which outlive it.
class Conflicts {
 public:
  /// Steps run one after another: pieces conflict if they are alive in the same step.
  explicit Conflicts(std::span<const Lifetime> lifetimes) : lifetimes_(lifetimes) {}
  /// Tasks may run side by side: pieces conflict unless the last use of one certainly precedes the
  /// first use of the other. `touches`: by piece, in the order of steps, the first one writes it.
  Conflicts(std::span<const Lifetime> lifetimes, std::span<const std::vector<Touch>> touches,
            const TaskOrder& order);

  bool are_in_conflict(std::size_t a, std::size_t b) const {
    if (table_.empty()) {
      const Lifetime& x = lifetimes_[a];
      const Lifetime& y = lifetimes_[b];
      return x.first_step <= y.last_step && y.first_step <= x.last_step;
    }
    return table_[a * lifetimes_.size() + b];
  }

 private:
  std::span<const Lifetime> lifetimes_;
  std::vector<bool> table_;  ///< empty: by steps
};

}  // namespace sluice::plan
