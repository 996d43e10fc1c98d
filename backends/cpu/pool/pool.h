#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "contention/controller.h"
#include "pool/barrier.h"
#include "pool/gate.h"

namespace sluice::cpu {

/// A member of the team that runs one task.
class Member {
 public:
  Member(int index, int count, Barrier* barrier)
      : index_(index), count_(count), barrier_(barrier) {}

  int index() const { return index_; }
  int count() const { return count_; }

  /// Waits for the rest of the team.
  void sync() const {
    if (barrier_ != nullptr) barrier_->wait();
  }

 private:
  int index_;
  int count_;
  Barrier* barrier_;
};

/// Threads that run one task at a time together; the caller is member 0.
///
/// A pool of one has no threads. Idle threads spin for about 50 us after a task and then sleep, so
/// an idle pool uses no processor. Each thread is pinned to a given processor; when the
/// caller runs on a thread's processor, that thread moves to the caller's place. Denormal numbers
/// are flushed to zero while a task runs.
///
/// Two ways to run a task: `run`, in which all members take part and may wait for each other; and
/// `lead`, in which the caller offers pieces of work and a helper takes some when it has a
/// processor (contention/controller.h).
///
/// Thread-safe. A caller that finds the pool busy runs its task alone, as a team of one, on its own
/// thread. Waiting for the pool would add one model's latency to another's; with more callers than
/// processors, each alone is also the best use of them.
///
/// Ownership instead of a lock: the caller that sets `busy_` owns cpus_, contention_, task_ and
/// context_ until it clears `busy_`. Threads read task_ and context_ only after a call through
/// epoch_ (run) or after entering gate_ (lead); both order the reads behind the owner's writes.
class ThreadPool {
 public:
  using Task = void (*)(void* context, const Member& member);

  /// One member per entry of `cpus`. Throws std::system_error when a thread cannot be started.
  explicit ThreadPool(std::vector<int> cpus, ContentionDetector detector = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int count() const { return static_cast<int>(cpus_.size()); }

  /// True while other processes hold members up: another TeamMode may be faster than `run`.
  bool is_contended() const { return contention_.is_contended(); }

  /// Reports a run of `run_ns` nanoseconds in another mode while the pool was contended. Now and
  /// then this reads the kernel's figures and ends the contention if the cores are free.
  void note_unpinned_run(std::int64_t run_ns);

  /// Returns when every member has finished `task`.
  void run(Task task, void* context);

  /// Runs `task` on the calling thread. While `task` offers work, helpers run `help`.
  void lead(Task task, Task help, void* context);
  /// Within a led task: until `withdraw`, each other member may run `help`, any number of times.
  void offer();
  /// Returns when no member runs `help` any more.
  void withdraw();

  /// Runs `task` on the calling thread only.
  static void run_alone(Task task, void* context);

 private:
  /// What threads are woken for, in the low bits of epoch_.
  enum Call : std::uint32_t { kRun, kHelp, kEnd };

  bool enter();
  void leave();
  void serve(int index);
  void call(Call what);
  void give_way_to_caller();
  std::optional<ContentionProbe::Seen> look_at_helpers();
  void stop();

  std::vector<int> cpus_;  ///< [0] is left to the caller
  std::vector<std::thread> threads_;
  std::atomic<bool> busy_{false};
  Barrier barrier_;
  ContentionController contention_;
  alignas(64) WaitWord epoch_;
  Gate gate_;  ///< open while work is offered
  Task task_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace sluice::cpu
