#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "pool/barrier.h"
#include "pool/gate.h"
#include "pool/neighbours.h"
#include "pool/strain.h"

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

/// Threads that run one task at a time together, the caller among them as member 0.
///
/// A pool of one has no threads. Idle threads spin for about 50 us after a task and then sleep: an
/// idle pool uses no processor. Threads keep to one processor each, inside those given, and make
/// room when they find the caller on theirs. Denormal numbers are flushed to zero while a task
/// runs.
///
/// A task is run by all members together, who may wait for each other; or led by the caller, who
/// offers pieces of work that the others take part in when they have a processor.
///
/// Safe to use from several threads: whoever finds the pool busy runs the task alone, as a team of
/// one, on its own thread. (Waiting for the pool would make one model's latency another's; with
/// more callers than processors, each alone is also the best use of them.)
class WorkerPool {
 public:
  using Task = void (*)(void* context, const Member& member);

  /// One member per entry of `cpus`. Throws std::system_error when a thread cannot be started.
  explicit WorkerPool(std::vector<int> cpus, Strain strain = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int count() const { return static_cast<int>(cpus_.size()); }

  /// Members were held up in the last runs: another way to run may be faster.
  bool is_strained() const { return is_strained_.load(std::memory_order_relaxed); }

  /// After a run of `run_ns` nanoseconds that went another way since the pool is strained: finds
  /// out, now and then, whether those who held members up are gone, for then it is no more.
  void look_around(std::int64_t run_ns);

  /// Returns when every member has finished `task`.
  void run(Task task, void* context);

  /// Runs `task` on the calling thread as the only one that must; where it offers work, others run
  /// `help`.
  void lead(Task task, Task help, void* context);
  /// Inside a led task: from now until `withdraw`, other members may run `help`, each perhaps again
  /// and again.
  void offer();
  /// Returns when nobody runs `help` any more.
  void withdraw();

  /// Runs `task` on the calling thread only.
  static void run_alone(Task task, void* context);

 private:
  /// What threads are called to, in the low bits of epoch_.
  enum Call : std::uint32_t { kRun, kHelp, kEnd };

  bool enter();
  void leave();
  void serve(int index);
  void call(Call what);
  void give_way_to_caller();
  std::optional<Neighbours::Seen> look_at_helpers();
  void note_waits(std::int64_t run_ns);
  void stop();

  std::vector<int> cpus_;  ///< [0] is left to the caller
  std::vector<std::thread> threads_;
  std::atomic<bool> busy_{false};
  Barrier barrier_;
  Neighbours neighbours_;
  Strain strain_;  ///< this, and what follows, belong to the run under way
  std::int64_t waited_before_ns_ = 0;
  std::atomic<bool> is_strained_{false};
  alignas(64) WaitWord epoch_;
  Gate gate_;  ///< into what is offered
  Task task_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace sluice::cpu
