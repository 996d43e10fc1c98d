#include "plan/conflicts.h"

#include <algorithm>

namespace sluice::plan {
namespace {

/// Whether `earlier` has certainly ended when `later` starts.
bool precedes(const Touch& earlier, const Touch& later, const TaskOrder& order) {
  if (earlier.task == kAfterAllTasks) return false;
  if (later.task == kAfterAllTasks) return true;
  if (earlier.task == later.task) return earlier.step < later.step;
  return order.is_before(earlier.task, later.task);
}

}  // namespace

Conflicts::Conflicts(std::span<const Lifetime> lifetimes,
                     std::span<const std::vector<Touch>> touches, const TaskOrder& order)
    : lifetimes_(lifetimes), table_(lifetimes.size() * lifetimes.size(), true) {
  // Every later use of a piece follows its first one, so the first stands for all of them.
  const auto is_over = [&](std::size_t a, std::size_t b) {
    return touches[b].empty() || std::ranges::all_of(touches[a], [&](const Touch& touch) {
             return precedes(touch, touches[b].front(), order);
           });
  };
  for (std::size_t a = 0; a < lifetimes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool is_apart = is_over(a, b) || is_over(b, a);
      table_[a * lifetimes.size() + b] = table_[b * lifetimes.size() + a] = !is_apart;
    }
  }
}

}  // namespace sluice::plan
