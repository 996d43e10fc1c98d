#include "base/byte_budget.h"

namespace sluice {

Status ByteBudget::charge(std::int64_t bytes) {
  std::int64_t held = held_bytes_.load(std::memory_order_relaxed);
  do {
    // held never exceeds limit_bytes_, so the difference does not overflow.
    if (bytes > limit_bytes_ - held) {
      return make_error(Code::kResourceExhausted, "no memory for {} bytes: {} of {} are in use",
                        bytes, held, limit_bytes_);
    }
  } while (!held_bytes_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  for (std::size_t i = 0; i < parents_.size(); ++i) {
    if (parents_[i] == nullptr) continue;
    Status refused = parents_[i]->charge(bytes);
    if (refused.is_ok()) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (parents_[j] != nullptr) parents_[j]->release(bytes);
    }
    held_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return refused;
  }
  return ok_status();
}

void ByteBudget::release(std::int64_t bytes) {
  held_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  for (const auto& parent : parents_) {
    if (parent != nullptr) parent->release(bytes);
  }
}

Result<ByteCharge> ByteCharge::take(std::shared_ptr<ByteBudget> budget, std::int64_t bytes) {
  SLUICE_TRY(budget->charge(bytes));
  ByteCharge charge;
  charge.budget_ = std::move(budget);
  charge.bytes_ = bytes;
  return charge;
}

Status ByteCharge::resize(std::int64_t bytes) {
  if (budget_ == nullptr) return ok_status();
  if (bytes > bytes_) {
    SLUICE_TRY(budget_->charge(bytes - bytes_));
  } else {
    budget_->release(bytes_ - bytes);
  }
  bytes_ = bytes;
  return ok_status();
}

}  // namespace sluice
