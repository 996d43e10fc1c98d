// Words in shared memory, and looking at them for a bounded time.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/parking_spot.h"
#include "shm/futex.h"
#include "shm/ring_layout.h"

namespace sluice::shm {

static_assert(std::atomic_ref<std::uint32_t>::is_always_lock_free, "both processes see one word");

inline std::uint32_t load_acquire(std::uint32_t& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}
inline void store_release(std::uint32_t& word, std::uint32_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}
/// A store with a full fence: if two sides each store and then read the other's word, at least one
/// of them sees the other's store.
inline void store_fenced(std::uint32_t& word, std::uint32_t value) {
  std::atomic_ref(word).exchange(value, std::memory_order_seq_cst);
}
inline void add(std::uint32_t& word) {
  std::atomic_ref(word).fetch_add(1, std::memory_order_seq_cst);
}

/// Requires: the word that the sleeper checks was stored with `store_fenced` before.
inline void ring_if_asleep(RingBell& bell) {
  if (std::atomic_ref(bell.is_asleep).load(std::memory_order_seq_cst) == 0) return;
  add(bell.bell);
  futex_wake(&bell.bell);
}

/// Whether `is_ready()` came true within `spin_ns`.
template <typename IsReady>
bool spin_until(const IsReady& is_ready, std::int64_t spin_ns) {
  constexpr int kLooksPerTime = 16;  // the clock costs more than a look
  if (is_ready()) return true;
  if (spin_ns <= 0) return false;
  const std::int64_t end_ns = system_clock().now_ns() + spin_ns;
  do {
    for (int i = 0; i < kLooksPerTime; ++i) {
      spin_pause();
      if (is_ready()) return true;
    }
  } while (system_clock().now_ns() < end_ns);
  return false;
}

}  // namespace sluice::shm
