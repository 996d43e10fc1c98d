// A place where a thread sleeps until another thread wakes it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice {

/// Tells the processor that this thread only waits.
inline void spin_pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Any number of threads wait at a spot, any number wake them. No news is lost when what `is_ready`
/// reads is changed by a sequentially consistent store before `wake`.
class ParkingSpot {
 public:
  /// Looks a bounded number of times, then sleeps until `is_ready()` or `deadline_ns` by `clock`.
  /// Returns the last answer of `is_ready`, which reads atomics and does nothing else: it is called
  /// under a lock that `wake` takes.
  template <typename IsReady>
  bool wait(Clock& clock, std::int64_t deadline_ns, IsReady&& is_ready) {
    for (int i = 0; i < kSpins; ++i) {
      if (is_ready()) return true;
      spin_pause();
    }
    std::unique_lock lock(mutex_);
    ++num_waiting_;
    bool ready = false;
    while (true) {
      is_parked_.store(true, std::memory_order_seq_cst);
      ready = is_ready();
      if (ready || clock.now_ns() >= deadline_ns) break;
      clock.wait_until(lock, condition_, deadline_ns);
    }
    --num_waiting_;
    is_parked_.store(num_waiting_ > 0, std::memory_order_relaxed);
    return ready;
  }

  /// Costs one load while nobody sleeps or the sleepers have been woken.
  void wake() {
    if (!is_parked_.load(std::memory_order_seq_cst)) return;
    {
      const std::lock_guard lock(mutex_);
      is_parked_.store(false, std::memory_order_relaxed);
    }
    condition_.notify_all();
  }

 private:
  static constexpr int kSpins = 200;  // some microseconds

  std::atomic<bool> is_parked_ = false;
  std::mutex mutex_;
  std::condition_variable condition_;
  int num_waiting_ = 0;  ///< guarded by mutex_
};

}  // namespace sluice
