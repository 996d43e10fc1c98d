#include "runtime/packages/ready_models.h"

#include <algorithm>
#include <iterator>

namespace sluice::runtime {

/// Models end outside the lock: the last owner of a package unmaps its file.
void ReadyModels::keep(const Ready& ready) {
  std::list<Ready> over;
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(kept_, ready);
  if (it != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, it);
    return;
  }
  kept_.push_front(ready);
  if (kept_.size() > kMost) over.splice(over.begin(), kept_, std::prev(kept_.end()));
}

void ReadyModels::drop(const Ready& ready) {
  const std::lock_guard lock(mutex_);
  std::erase(kept_, ready);
}

}  // namespace sluice::runtime
