// A thread that runs the stages of one lane.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"

namespace sluice::runtime {

/// Runs one job at a time. One thread at a time calls `start`, `is_done`, `take` and `wait`.
///
///     idle --start--> has a job --(the thread)--> done --take--> idle
class LaneThread {
 public:
  using Job = std::function<Status()>;

  /// `cpus`: affinity of the thread; empty: none. The thread calls `after` when a job is done; the
  /// next job may have started then.
  LaneThread(std::vector<std::int32_t> cpus, std::function<void()> after);
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;
  /// Waits for a running job and `after`. Requires: not on this thread.
  ~LaneThread();

  /// Requires: idle.
  void start(Job job);
  bool is_done() const { return state_.load(std::memory_order_acquire) == State::kDone; }
  /// Whether a job waits or runs. Safe from any thread.
  bool has_job() const { return state_.load(std::memory_order_acquire) == State::kJob; }
  /// The result of the job. Requires: is_done.
  Status take();
  /// Blocks while there is a job.
  void wait();

 private:
  enum class State : std::uint8_t { kIdle, kJob, kDone };

  void run();

  const std::vector<std::int32_t> cpus_;
  const std::function<void()> after_;
  std::atomic<State> state_ = State::kIdle;
  std::mutex mutex_;  ///< held to change state_ to kJob or kDone
  std::condition_variable changed_;
  bool is_stopping_ = false;
  Job job_;  ///< the thread's while state_ is kJob, else the caller's
  Status result_;
  std::thread thread_;  ///< last: it uses the members above
};

}  // namespace sluice::runtime
