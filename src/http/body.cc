#include "http/body.h"

#include <algorithm>
#include <cstring>

namespace sluice::http {

Status Body::reserve(std::size_t wanted) {
  if (wanted <= capacity_) return ok_status();
  if (wanted > limit_) {
    return invalid_argument("the body has more than {} bytes", limit_);
  }
  // Twice as much, so that a body of unknown size is copied few times.
  const std::size_t capacity = std::min(limit_, std::max(wanted, 2 * capacity_));
  const std::size_t total =
      (lead_ + capacity + kPadding + kAlignment - 1) / kAlignment * kAlignment;
  if (charge_.bytes() == 0) {
    charge_ = SLUICE_TRY(ByteCharge::take(budget_, static_cast<std::int64_t>(total)));
  } else {
    SLUICE_TRY(charge_.resize(static_cast<std::int64_t>(total)));
  }
  std::unique_ptr<std::byte, Free> data(
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, total)));
  if (data == nullptr) return make_error(Code::kResourceExhausted, "no memory for {} bytes", total);
  if (size_ > 0) std::memcpy(data.get() + lead_, data_.get() + lead_, size_);
  data_ = std::move(data);
  capacity_ = capacity;
  return ok_status();
}

}  // namespace sluice::http
