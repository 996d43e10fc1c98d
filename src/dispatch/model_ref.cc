#include "dispatch/model_ref.h"

#include <algorithm>

namespace sluice::dispatch {

bool ModelRef::takes_the_same(const ModelRef& other) const {
  const auto same = [](const terms::TensorSpec& a, const terms::TensorSpec& b) {
    return a.name == b.name && a.type == b.type;
  };
  return in_place_inputs_ == other.in_place_inputs_ &&
         std::ranges::equal(signature_.inputs, other.signature_.inputs, same);
}

std::shared_ptr<ModelRef> ModelRef::shadow() const {
  if (!has_shadow_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(shadow_mutex_);
  return shadow_.lock();
}

void ModelRef::set_shadow(const std::shared_ptr<ModelRef>& shadow) {
  const std::lock_guard lock(shadow_mutex_);
  shadow_ = shadow;
  has_shadow_.store(shadow != nullptr, std::memory_order_release);
}

bool ModelRef::take_copy() {
  if (num_copies_.fetch_add(1) < 2 * sink_->depth()) return true;
  --num_copies_;
  return false;
}

}  // namespace sluice::dispatch
