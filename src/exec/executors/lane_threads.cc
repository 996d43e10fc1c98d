#include "exec/executors/lane_threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/process/start_thread.h"
#include "base/system/processor.h"

namespace sluice::exec {
namespace {

/// A waiting thread looks this often before it sleeps: some microseconds, about the time that
/// falling asleep and waking up would take.
constexpr int kLooks = 200;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// Acquire pairs with the release in set(): who sees the number sees all that was written before it.
void LaneThreads::Word::wait_for(std::uint32_t wanted) {
  for (int i = 0; i < kLooks; ++i) {
    if (value.load(std::memory_order_acquire) == wanted) return;
    relax();
  }
  for (std::uint32_t seen = value.load(std::memory_order_acquire); seen != wanted;
       seen = value.load(std::memory_order_acquire)) {
    value.wait(seen, std::memory_order_acquire);
  }
}

void LaneThreads::Word::set(std::uint32_t to) {
  value.store(to, std::memory_order_release);
  value.notify_all();
}

LaneThreads::LaneThreads(std::vector<std::size_t> thread_of_group, std::vector<std::int32_t> cpus)
    : thread_of_group_(std::move(thread_of_group)), cpus_(std::move(cpus)) {
  for (const std::size_t thread : thread_of_group_) {
    num_threads_ = std::max(num_threads_, thread + 1);
  }
  calls_ = std::make_unique<Word[]>(num_threads_);
  returns_ = std::make_unique<Word[]>(num_threads_);
}

LaneThreads::~LaneThreads() {
  // Relaxed is enough here: set() below publishes it.
  is_stopping_.store(true, std::memory_order_relaxed);
  // A number that no thread has seen yet, so that each wakes.
  for (std::size_t i = 0; i < threads_.size(); ++i) calls_[i + 1].set(epoch_ + 1);
  for (std::thread& thread : threads_) thread.join();
}

Status LaneThreads::start_threads() {
  if (cpus_.empty()) cpus_ = usable_cpus();
  while (threads_.size() + 1 < num_threads_) {
    const std::size_t number = threads_.size() + 1;
    // Counts from 1, since thread 0 is the caller.
    threads_.push_back(SLUICE_TRY(start_thread([this, number] { serve(number); })));
    pinned_to_.push_back(-1);
  }
  return ok_status();
}

/// Threads beyond the number of processors stay where the kernel puts them. Best effort.
void LaneThreads::keep_apart() {
  const int own = sched_getcpu();
  std::size_t thread = 0;
  for (const int cpu : cpus_) {
    // The caller's processor stays free for the caller, which may have moved since the last run.
    if (cpu == own) continue;
    if (thread == threads_.size()) return;
    if (std::exchange(pinned_to_[thread], cpu) != cpu) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(static_cast<std::size_t>(cpu), &set);
      pthread_setaffinity_np(threads_[thread].native_handle(), sizeof(set), &set);
    }
    ++thread;
  }
}

Status LaneThreads::run(const ListRun& run) {
  has_work_.assign(num_threads_, false);
  for (const TaskList& task : run.tasks) has_work_[thread_of(task)] = true;
  // A range without work for another thread needs no hand-over, whatever the groups are.
  const bool is_split = std::find(has_work_.begin() + 1, has_work_.end(), true) != has_work_.end();
  if (!is_split) return run_linear(run);
  SLUICE_TRY(start_threads());
  keep_apart();
  prepare(run);
  for (std::size_t thread = 1; thread < num_threads_; ++thread) {
    if (has_work_[thread]) calls_[thread].set(epoch_);
  }
  work(0);
  for (std::size_t thread = 1; thread < num_threads_; ++thread) {
    if (has_work_[thread]) returns_[thread].wait_for(epoch_);
  }
  run_ = {};
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, ok_status());
}

void LaneThreads::prepare(const ListRun& run) {
  // The order in which memory passes between the threads of a run:
  //
  //   caller: writes run_, epoch_, is_awaited_, ended_ -- calls_[t] --> thread t reads them
  //   thread t: runs list i -- ended_[i] --> a thread whose list depends on i
  //   thread t: has waited for its streams -- returns_[t] --> caller
  //
  // Words hold the number of the run and are never reset: a word of an earlier run has another
  // number.
  run_ = run;
  if (run.has_checkpoint()) {
    checkpoint_ = [this, check = run.checkpoint] {
      // Threads ask at the same time, but the run's checkpoint expects one at a time.
      const std::lock_guard lock(checkpoint_mutex_);
      return (*check)();
    };
    run_.checkpoint = &checkpoint_;
  }
  ++epoch_;
  has_failed_.store(false, std::memory_order_relaxed);
  if (num_ended_ < run.tasks.size()) {
    ended_ = std::make_unique<Word[]>(run.tasks.size());
    num_ended_ = run.tasks.size();
  }
  is_awaited_.assign(run.tasks.size(), false);
  for (const TaskList& task : run.tasks) {
    for (const std::int32_t other : task.after) {
      const auto index = static_cast<std::size_t>(other);
      // A list of its own stream needs no word: a stream runs lists in order.
      if (run.tasks[index].group != task.group) is_awaited_[index] = true;
    }
  }
}

/// A run that a thread takes no part in leaves a gap in the numbers that the thread sees.
void LaneThreads::serve(std::size_t thread) {
  std::uint32_t seen = 0;
  while (true) {
    Word& call = calls_[thread];
    for (int i = 0; i < kLooks && call.value.load(std::memory_order_acquire) == seen; ++i) relax();
    call.value.wait(seen, std::memory_order_acquire);
    seen = call.value.load(std::memory_order_acquire);
    if (is_stopping_.load(std::memory_order_relaxed)) return;
    work(thread);
    returns_[thread].set(seen);
  }
}

void LaneThreads::work(std::size_t thread) {
  const ListRun& run = run_;
  for (std::size_t i = 0; i < run.tasks.size(); ++i) {
    if (thread_of(run.tasks[i]) != thread) continue;
    // The caller's thread alone asks between lists; within kernels each thread asks for its own.
    if (thread == 0 && i > 0) {
      Status status = run.check();
      if (!status.is_ok()) fail(i, std::move(status));
    }
    run_task(i);
  }
  // Lists that nothing on another stream awaits may still run.
  for (std::size_t group = 0; group < run.streams.size(); ++group) {
    if (thread_of_group_[group] != thread) continue;
    Status status = run.streams[group]->wait();
    if (!status.is_ok()) fail(run.tasks.size(), std::move(status));
  }
}

/// After a failure lists are not submitted any more, but count as ended, so that nobody waits for
/// them.
void LaneThreads::run_task(std::size_t index) {
  const ListRun& run = run_;
  const TaskList& task = run.tasks[index];
  for (const std::int32_t other : task.after) {
    const auto before = static_cast<std::size_t>(other);
    if (run.tasks[before].group != task.group) ended_[before].wait_for(epoch_);
  }
  if (!has_failed_.load(std::memory_order_relaxed)) {
    Submission submission;
    Status status = submission.submit(run, index);
    // A trace waits for every list, to know its end.
    const bool is_waited_for = is_awaited_[index] || run.trace != nullptr;
    if (status.is_ok() && is_waited_for) status = run.streams[task.group]->wait();
    submission.end(run);
    if (!status.is_ok()) fail(index, std::move(status));
  }
  // After a failure too, or a thread that waits for this list would never wake.
  if (is_awaited_[index]) ended_[index].set(epoch_);
}

void LaneThreads::fail(std::size_t index, Status status) {
  const std::lock_guard lock(mutex_);
  // The error of the earliest list is reported, as the linear executor would report it.
  if (!error_.is_ok() && failed_ <= index) return;
  failed_ = index;
  error_ = std::move(status);
  has_failed_.store(true, std::memory_order_relaxed);
}

}  // namespace sluice::exec
