// The bytes of a request behind its head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/byte_budget.h"

namespace sluice::http {

/// Grows while bytes arrive, up to a limit; charged before it is allocated. Used by one thread
/// until it is complete, then immutable.
class Body {
 public:
  /// What lies behind the JSON of a body starts on a multiple of this, so that tensors are read
  /// where they are.
  static constexpr std::size_t kAlignment = 64;
  /// Allocated behind the last byte: a parser may read there.
  static constexpr std::size_t kPadding = 64;

  Body() = default;
  /// `json_bytes`: how many bytes lie before the first tensor. `limit_bytes`: of all.
  Body(std::shared_ptr<ByteBudget> budget, std::int64_t json_bytes, std::int64_t limit_bytes)
      : budget_(std::move(budget)),
        lead_(
            (kAlignment - static_cast<std::size_t>(json_bytes < 0 ? 0 : json_bytes) % kAlignment) %
            kAlignment),
        limit_(static_cast<std::size_t>(limit_bytes)) {}

  /// Without bytes, of the same budget and limit.
  Body empty_one(std::int64_t json_bytes) const {
    return {budget_, json_bytes, static_cast<std::int64_t>(limit_)};
  }

  /// Room for at least `wanted` bytes in all. What came is kept.
  /// Fails: kInvalidArgument over the limit; kResourceExhausted over the budget, or without memory.
  Status reserve(std::size_t wanted);
  std::byte* end() { return data_.get() + lead_ + size_; }
  std::size_t room() const { return capacity_ - size_; }
  /// `num` more bytes came at `end`.
  void add(std::size_t num) { size_ += num; }

  std::size_t size() const { return size_; }
  std::string_view bytes() const {
    if (data_ == nullptr) return {};
    return {reinterpret_cast<const char*>(data_.get()) + lead_, size_};
  }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };

  std::shared_ptr<ByteBudget> budget_;
  ByteCharge charge_;
  std::size_t lead_ = 0;  ///< unused bytes at the start
  std::size_t limit_ = 0;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace sluice::http
