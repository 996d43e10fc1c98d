#pragma once

#include <atomic>
#include <cstdint>

#include "pool/barrier.h"

namespace sluice::cpu {

/// Lets helpers in while there is work. Who is outside when it closes is not waited for: a helper
/// without a processor holds nobody up.
class Gate {
 public:
  // By the owner.

  /// What it wrote before is visible to all who enter.
  void open() { state_.store(0, std::memory_order_release); }
  /// Nobody enters any more. Returns when those inside have left; what they wrote is visible.
  void close() {
    const std::uint32_t seen = last_left_.load();
    if (state_.fetch_or(kClosed, std::memory_order_acq_rel) == 0) return;
    while (state_.load(std::memory_order_acquire) != kClosed) last_left_.wait_while(seen);
  }

  // By helpers.

  /// False where it is closed. Followed by `leave`.
  bool enter() {
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    while ((state & kClosed) == 0) {
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  void leave() {
    if (state_.fetch_sub(1, std::memory_order_acq_rel) == (kClosed | 1)) last_left_.advance();
  }

 private:
  static constexpr std::uint32_t kClosed = 0x80000000;

  alignas(64) std::atomic<std::uint32_t> state_{kClosed};  ///< and how many are inside
  WaitWord last_left_;
};

}  // namespace sluice::cpu
