// Bounds the memory that outsiders make a process hold: counted before it is allocated.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/result.h"

namespace sluice {

/// Counts bytes against a limit, and against the limits of its parents. Safe from any thread.
class ByteBudget {
 public:
  /// Both parents are charged too, such as the budget of a purpose and that of an owner. Null: no
  /// parent.
  explicit ByteBudget(std::int64_t limit_bytes, std::shared_ptr<ByteBudget> parent = nullptr,
                      std::shared_ptr<ByteBudget> second_parent = nullptr)
      : limit_bytes_(limit_bytes), parents_{std::move(parent), std::move(second_parent)} {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  /// Fails: kResourceExhausted with the bytes wanted, held and allowed; nothing is charged.
  Status charge(std::int64_t bytes);
  void release(std::int64_t bytes);

  std::int64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  std::int64_t limit_bytes() const { return limit_bytes_; }

 private:
  const std::int64_t limit_bytes_;
  const std::array<std::shared_ptr<ByteBudget>, 2> parents_;  ///< null: none
  std::atomic<std::int64_t> held_bytes_ = 0;
};

/// Bytes that are charged to a budget for the life of this object. Move-only.
class ByteCharge {
 public:
  ByteCharge() = default;
  /// Fails: as ByteBudget::charge.
  static Result<ByteCharge> take(std::shared_ptr<ByteBudget> budget, std::int64_t bytes);
  ByteCharge(ByteCharge&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  ByteCharge& operator=(ByteCharge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ByteCharge() {
    if (budget_ != nullptr) budget_->release(bytes_);
  }

  std::int64_t bytes() const { return bytes_; }
  /// Fails: as ByteBudget::charge; the charge stays as it was.
  Status resize(std::int64_t bytes);

 private:
  std::shared_ptr<ByteBudget> budget_;
  std::int64_t bytes_ = 0;
};

}  // namespace sluice
