#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::cpu {

/// How long threads that wait spin before they sleep: where each has a processor of its own, about
/// 50 us; where they may share one, hardly at all, for whoever they wait for may need it.
enum class Patience : std::uint8_t { kSpin, kYield };

/// A 32-bit word that threads wait on: they spin for a bounded time, then sleep in the kernel. A
/// change costs its author a system call only when somebody sleeps.
class WaitWord {
 public:
  std::uint32_t load() const { return value_.load(std::memory_order_acquire); }

  /// Adds one and wakes everybody who waits.
  void advance();

  /// Returns once the word differs from `seen`; true if it took longer than spinning lasts.
  bool wait_while(std::uint32_t seen, Patience patience = Patience::kSpin);

 private:
  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

/// Where `count` threads meet, again and again.
class Barrier {
 public:
  explicit Barrier(int count) : count_(static_cast<std::uint32_t>(count)) {}

  /// Returns when all threads have called it; what they wrote before is visible to all after.
  void wait();

  /// How often somebody waited here longer than spinning lasts.
  std::uint32_t long_waits() const { return long_waits_.load(std::memory_order_relaxed); }

  /// Of waits from now on.
  void set_patience(Patience patience) { patience_.store(patience, std::memory_order_relaxed); }

 private:
  const std::uint32_t count_;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> long_waits_{0};
  std::atomic<Patience> patience_{Patience::kSpin};
  alignas(64) WaitWord generation_;
};

}  // namespace sluice::cpu
