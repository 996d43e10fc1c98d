#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "runtime/inference/driver.h"

namespace sluice::runtime {

/// Has no thread: its machine moves only while a caller waits, on that caller's thread. One caller
/// steps at a time; when it leaves, another one that waits takes over.
class CallerDriver final : public Driver {
 public:
  /// Both outlive the driver.
  CallerDriver(Steppable& machine, Clock& clock) : machine_(machine), clock_(clock) {}

  void notify() override { announce(); }
  void announce() override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  /// Their work goes on without a caller; its end waits for one.
  bool has_threads() const override { return true; }

 private:
  using Lock = std::unique_lock<std::mutex>;

  std::int64_t step(Lock& lock, const std::function<bool()>& is_done, std::int64_t deadline_ns);

  Steppable& machine_;
  Clock& clock_;
  std::mutex mutex_;  ///< guards is_stepping_
  bool is_stepping_ = false;
  std::condition_variable changed_;  ///< is_stepping_, or num_signals_
  std::atomic<std::uint64_t> num_signals_ = 0;
  std::atomic<int> num_waiting_ = 0;
};

}  // namespace sluice::runtime
