// The parallel executor: the lists of a range on several threads, one per device and lane of cores.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "exec/executors/list_run.h"

namespace sluice::exec {

/// Every thread submits the lists of its groups in their order. It waits for a list of another
/// thread only where one of its own depends on that; a list that only later lists of its own stream
/// depend on is not waited for at all. Lists are in topological order, so the threads cannot
/// deadlock.
///
/// Threads start with the first run that needs them. Each has a processor other than the caller's:
/// on a busy machine the kernel would wake a thread on the processor of the one that wakes it,
/// behind it. One run at a time, by one thread.
class LaneThreads {
 public:
  /// `thread_of_group`: 0 is the thread that calls `run`. `cpus`: the processors for the others;
  /// empty: those that the caller of the first run may use.
  LaneThreads(std::vector<std::size_t> thread_of_group, std::vector<std::int32_t> cpus);
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

  /// Fails: as the first list that failed, by index; kResourceExhausted where no thread starts.
  Status run(const ListRun& run);

 private:
  /// A number that threads wait for.
  struct alignas(64) Word {
    std::atomic<std::uint32_t> value{0};
    void wait_for(std::uint32_t wanted);
    void set(std::uint32_t to);
  };

  std::size_t thread_of(const TaskList& task) const { return thread_of_group_[task.group]; }
  Status start_threads();
  void keep_apart();
  void prepare(const ListRun& run);
  void serve(std::size_t thread);
  void work(std::size_t thread);
  void run_task(std::size_t index);
  void fail(std::size_t index, Status status);

  std::vector<std::size_t> thread_of_group_;
  std::size_t num_threads_ = 1;
  std::vector<std::thread> threads_;
  std::vector<std::int32_t> cpus_;  ///< for the threads; set once they start
  std::vector<int> pinned_to_;      ///< by started thread; -1 for nowhere

  // Members of the run under way; written before `calls_` wakes the threads, read after.
  ListRun run_ = {};
  std::function<Status()> checkpoint_;  ///< of the run, one thread at a time
  std::mutex checkpoint_mutex_;
  std::uint32_t epoch_ = 0;          ///< number of the run
  std::vector<bool> is_awaited_;     ///< by list: a list of another stream depends on it
  std::vector<bool> has_work_;       ///< by thread
  std::unique_ptr<Word[]> calls_;    ///< by thread: the run that it takes part in
  std::unique_ptr<Word[]> returns_;  ///< by thread: the run that it has ended
  std::unique_ptr<Word[]> ended_;    ///< by list: the run in which it ended
  std::size_t num_ended_ = 0;        ///< length of `ended_`
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_failed_{false};
  std::mutex mutex_;  ///< of the two below
  std::size_t failed_ = 0;
  Status error_;
};

}  // namespace sluice::exec
