#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::cpu {

/// A 32-bit word that threads wait on: they spin for about 50 us, then sleep in the kernel. A
/// change costs its author a system call only when somebody sleeps.
class WaitWord {
 public:
  std::uint32_t load() const { return value_.load(std::memory_order_acquire); }

  /// Adds one and wakes everybody who waits.
  void advance();
  /// Becomes `value`, by the one thread that changes it, and wakes everybody who waits.
  void set(std::uint32_t value);

  /// Returns once the word differs from `seen`: the nanoseconds that it took where that was longer
  /// than spinning lasts, else 0.
  std::int64_t wait_while(std::uint32_t seen);

 private:
  void wake();

  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

/// Where `count` threads meet, again and again.
class Barrier {
 public:
  explicit Barrier(int count) : count_(static_cast<std::uint32_t>(count)) {}

  /// Returns when all threads have called it; what they wrote before is visible to all after.
  void wait();

  /// How long threads waited here, all waits together that were longer than spinning lasts.
  std::int64_t waited_ns() const { return waited_ns_.load(std::memory_order_relaxed); }

 private:
  const std::uint32_t count_;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::int64_t> waited_ns_{0};
  alignas(64) WaitWord generation_;
};

}  // namespace sluice::cpu
