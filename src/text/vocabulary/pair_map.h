// A hash table from two 32-bit numbers to a small value, for merges and for edges of a trie.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::text {

/// Open addressing, at most half full. Requires of every key: not all bits set.
template <typename Value>
class PairMap {
 public:
  static constexpr std::uint64_t key(std::uint32_t first, std::uint32_t second) {
    return std::uint64_t{first} << 32U | second;
  }

  void reserve(std::size_t count) {
    const std::size_t slots = std::bit_ceil(2 * count + 2);  // two at least: see shift_
    if (slots > slots_.size()) grow(slots);
  }

  /// The value of the key, made if there was none.
  Value& operator[](std::uint64_t of) {
    if (2 * (size_ + 1) > slots_.size()) grow(std::max<std::size_t>(16, 2 * slots_.size()));
    Slot& slot = slots_[slot_of(of)];
    if (slot.key == kFree) {
      slot.key = of;
      ++size_;
    }
    return slot.value;
  }

  const Value* find(std::uint64_t of) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(of)];
    return slot.key == kFree ? nullptr : &slot.value;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kFree;
    Value value{};
  };

  std::size_t slot_of(std::uint64_t of) const {
    const std::size_t mask = slots_.size() - 1;
    // Fibonacci hashing: the high bits of the product depend on all bits of the key.
    std::size_t at = (of * 0x9E3779B97F4A7C15U) >> shift_;
    while (slots_[at].key != of && slots_[at].key != kFree) at = (at + 1) & mask;
    return at;
  }

  void grow(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    shift_ = static_cast<unsigned>(std::countl_zero(slots)) + 1;
    for (const Slot& slot : old) {
      if (slot.key != kFree) slots_[slot_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  unsigned shift_ = 0;  ///< 64 minus the logarithm of the slots; 64 itself would be no shift
};

}  // namespace sluice::text
