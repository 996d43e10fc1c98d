#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::cpu {

/// A 32-bit word that threads wait on. Waiters spin for about 50 us, then sleep in the kernel
/// (futex(2)). A change makes a system call only if a waiter sleeps.
class WaitWord {
 public:
  std::uint32_t load() const { return value_.load(std::memory_order_acquire); }

  /// Adds one and wakes all waiters.
  void advance();
  /// Stores `value` and wakes all waiters. Only one thread may call it.
  void set(std::uint32_t value);

  /// Blocks until the word differs from `seen`. Returns the nanoseconds waited if the thread slept,
  /// 0 if spinning sufficed.
  std::int64_t wait_while(std::uint32_t seen);

 private:
  void wake();

  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

/// A reusable barrier of `count` threads.
class Barrier {
 public:
  explicit Barrier(int count) : count_(static_cast<std::uint32_t>(count)) {}

  /// Returns when all threads have called it. The writes of each thread before `wait` are visible
  /// to all threads after it.
  void wait();

  /// Total time of waits that were too long for spinning, of all threads, since construction.
  std::int64_t waited_ns() const { return waited_ns_.load(std::memory_order_relaxed); }

 private:
  const std::uint32_t count_;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::int64_t> waited_ns_{0};
  alignas(64) WaitWord generation_;
};

}  // namespace sluice::cpu
