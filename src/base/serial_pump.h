// Work that any thread may start and one at a time does.
#pragma once

#include <atomic>

namespace sluice {

/// Whoever calls `run` while nobody pumps does the work; others make that thread do it once more
/// and return at once. So what a caller changed before `run` is seen by a pumping that starts after
/// it, without a lock, and a call from inside the work is no recursion.
class SerialPump {
 public:
  template <typename Work>
  void run(Work&& work) {
    int num_asked = 1;
    if (num_calls_.fetch_add(1, std::memory_order_acq_rel) > 0) return;
    while (num_asked > 0) {
      work();
      num_asked = num_calls_.fetch_sub(num_asked, std::memory_order_acq_rel) - num_asked;
    }
  }

 private:
  std::atomic<int> num_calls_ = 0;
};

}  // namespace sluice
