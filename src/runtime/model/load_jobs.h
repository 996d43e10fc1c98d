// Asynchronous loads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/clock.h"
#include "runtime/model/loader.h"

namespace sluice::runtime {

/// One load. Safe from any thread.
class LoadJob {
 public:
  LoadPhase phase() const { return phase_.load(std::memory_order_relaxed); }
  /// Cancels between two phases; no effect on a finished load.
  void cancel() { stop_.request_stop(); }
  bool is_done() const;
  /// The handle of the model, or the error; nullopt if the load is not finished at `deadline_ns`.
  std::optional<Result<std::uint64_t>> wait(Clock& clock, std::int64_t deadline_ns);

 private:
  friend class LoadJobs;
  std::atomic<LoadPhase> phase_ = LoadPhase::kReading;
  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::optional<Result<std::uint64_t>> result_;
};

/// One thread per running load. Safe from any thread.
class LoadJobs {
 public:
  using Load = std::function<Result<std::uint64_t>(const LoadRequest&, const std::stop_token&)>;

  LoadJobs() = default;
  LoadJobs(const LoadJobs&) = delete;
  LoadJobs& operator=(const LoadJobs&) = delete;
  ~LoadJobs() { close(); }

  std::shared_ptr<LoadJob> start(LoadRequest request, Load load);
  /// Cancels running loads and joins their threads.
  void close();

 private:
  struct Entry {
    std::shared_ptr<LoadJob> job;
    std::jthread thread;
  };
  void sweep();

  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace sluice::runtime
