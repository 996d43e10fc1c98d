// Serializes work that any thread may request.
#pragma once

#include <atomic>

namespace sluice {

/// The first caller of `run` does the work. Callers that arrive meanwhile make that thread repeat
/// the work and return at once. So every change made before `run` is seen by a pass that starts
/// after it, without a lock, and a call from inside the work does not recurse.
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
