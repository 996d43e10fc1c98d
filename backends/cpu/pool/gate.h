#pragma once

#include <atomic>
#include <cstdint>

#include "pool/barrier.h"

namespace sluice::cpu {

/// Admits helpers while there is work. Closing waits only for helpers that are inside: a helper
/// without a processor, which has not entered, holds nobody up.
///
/// One word holds a closed bit and the number of helpers inside, so that entering and closing are
/// one atomic operation each and cannot miss each other.
class Gate {
 public:
  // By the owner.

  /// Writes before `open` are visible to every helper that enters.
  void open() { state_.store(0, std::memory_order_release); }
  /// From now on nobody enters. Returns when the helpers inside have left; their writes are
  /// visible.
  void close() {
    const std::uint32_t seen = last_left_.load();
    if (state_.fetch_or(kClosed, std::memory_order_acq_rel) == 0) return;
    while (state_.load(std::memory_order_acquire) != kClosed) last_left_.wait_while(seen);
  }

  // By helpers.

  /// False if the gate is closed. A true result must be followed by `leave`.
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

  alignas(64) std::atomic<std::uint32_t> state_{kClosed};  ///< kClosed | helpers inside
  WaitWord last_left_;
};

}  // namespace sluice::cpu
