#include "plan/task_order.h"

namespace sluice::plan {

TaskOrder::TaskOrder(std::span<const Task> tasks)
    : words_((tasks.size() + 63) / 64), before_(tasks.size() * words_, 0) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const std::int32_t other : tasks[i].after) {
      const auto from = static_cast<std::size_t>(other);
      before_[i * words_ + from / 64] |= std::uint64_t{1} << (from % 64);
      for (std::size_t word = 0; word < words_; ++word) {
        before_[i * words_ + word] |= before_[from * words_ + word];
      }
    }
  }
}

}  // namespace sluice::plan
