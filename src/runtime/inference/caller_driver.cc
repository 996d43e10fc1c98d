#include "runtime/inference/caller_driver.h"

#include <algorithm>

#include "runtime/inference/pump.h"

namespace sluice::runtime {

// Prevents a lost wake-up without a lock. A caller increments num_waiting_ and then reads
// num_signals_; this increments num_signals_ and then reads num_waiting_. Whichever comes second
// sees the other.
void CallerDriver::announce() {
  num_signals_.fetch_add(1);
  if (num_waiting_.load() == 0) return;
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

bool CallerDriver::wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  if (is_done()) return true;
  num_waiting_.fetch_add(1);
  {
    Lock lock(mutex_);
    while (!is_done() && clock_.now_ns() < deadline_ns) {
      if (is_stepping_) {
        clock_.wait_until(lock, changed_, deadline_ns);
        continue;
      }
      const std::uint64_t seen = num_signals_.load();
      const std::int64_t until_ns = step(lock, is_done, deadline_ns);
      // Another caller's steps wake this one, too, and are no reason to step again.
      while (num_signals_.load() == seen && !is_done() && clock_.now_ns() < until_ns) {
        clock_.wait_until(lock, changed_, until_ns);
      }
    }
  }
  num_waiting_.fetch_sub(1);
  return is_done();
}

/// Returns when to step again without a signal.
std::int64_t CallerDriver::step(Lock& lock, const std::function<bool()>& is_done,
                                std::int64_t deadline_ns) {
  is_stepping_ = true;
  lock.unlock();
  const StepResult last =
      pump(machine_, clock_, is_done, deadline_ns, [](const StepResult& /*step*/) {});
  lock.lock();
  is_stepping_ = false;
  if (num_waiting_.load() > 1) changed_.notify_all();
  if (last.has_moved) return clock_.now_ns();
  const std::int64_t until_ns = std::min(deadline_ns, last.next_deadline_ns);
  return last.is_running ? std::min(until_ns, clock_.now_ns() + kBusyNapNs) : until_ns;
}

}  // namespace sluice::runtime
