// Loads that are put on a target: closed loop and open loop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "perf/target.h"
#include "perf/window.h"

namespace sluice::perf {

/// When requests are sent. Closed loop: always `concurrency` requests are in flight. Open loop:
/// they leave at `per_second` whatever the answers do, and a latency begins when a request is due,
/// so that a slow server or a late generator hides no wait.
struct LoadForm {
  int concurrency = 1;
  double per_second = 0;     ///< 0: closed loop
  bool is_poisson = false;   ///< times between requests are exponential, else equal
  std::uint64_t seed = 1;    ///< of the exponential times
  int max_in_flight = 1024;  ///< of an open loop; requests beyond it are not sent
  /// Open loop: when requests are due, in nanoseconds since the start, instead of a rate;
  /// ascending. Null: no replay.
  std::shared_ptr<const std::vector<std::int64_t>> arrivals_ns = nullptr;
  std::size_t num_requests = 1;  ///< of the target, which an open loop sends in turn

  bool is_open() const { return per_second > 0 || arrivals_ns != nullptr; }
};

/// Runs from `start` to its destructor, which waits for all answers. `take` is for one thread.
class Load {
 public:
  /// `target` and `clock` outlive it.
  static std::unique_ptr<Load> start(Target& target, const LoadForm& form,
                                     Clock& clock = system_clock());
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  virtual ~Load() = default;

  /// Whether a replay has sent all and has all answers. Other loads never end by themselves.
  bool is_over() const { return has_sent_all_ && in_flight_ == 0; }
  /// What has happened since the start or the last `take`.
  Window take();

 protected:
  Load(Target& target, Clock& clock);

  /// Sends a request that is due at `due_ns`, and records its answer; then calls `answered`.
  void send(std::int64_t due_ns, std::size_t request = 0);
  void set_sent_all() { has_sent_all_ = true; }
  void count_unsent();
  /// Called on the thread of an answer, with no lock held.
  virtual void answered(bool is_ok) = 0;
  /// For destructors of the kinds of load, once they send no more.
  void wait_for_answers();
  int num_in_flight() const { return in_flight_; }

  Target& target_;
  Clock& clock_;

 private:
  void record(std::int64_t due_ns, std::int64_t sent_ns, const Status& status);

  std::mutex mutex_;
  std::condition_variable idle_;
  std::atomic<int> in_flight_ = 0;
  std::atomic<bool> has_sent_all_ = false;
  Window window_;
  std::int64_t window_began_ns_;
  ThreadTimes times_;
};

}  // namespace sluice::perf
