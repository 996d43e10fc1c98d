#include "base/byte_budget.h"

namespace sluice {

Status ByteBudget::charge(std::int64_t bytes) {
  // The parent comes first; a failure of this budget returns the bytes to the parent.
  if (parent_ != nullptr) SLUICE_TRY(parent_->charge(bytes));
  std::int64_t held = held_bytes_.load(std::memory_order_relaxed);
  // held never exceeds limit_bytes_, so the difference does not overflow.
  while (bytes <= limit_bytes_ - held) {
    if (held_bytes_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed)) {
      return ok_status();
    }
  }
  if (parent_ != nullptr) parent_->release(bytes);
  return make_error(Code::kResourceExhausted, "no memory for {} bytes: {} of {} are in use", bytes,
                    held, limit_bytes_);
}

void ByteBudget::release(std::int64_t bytes) {
  held_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (parent_ != nullptr) parent_->release(bytes);
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
