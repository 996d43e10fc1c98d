#include "runtime/inference/thread_driver.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "base/process/with_lock.h"
#include "base/system/processor.h"
#include "runtime/inference/caller_driver.h"
#include "runtime/inference/pump.h"

namespace sluice::runtime {
namespace {

/// Shorter work runs on the caller's processor: moving the thread costs as much, and leaves it on
/// the group's processors afterwards, where it disturbs the driver.
constexpr std::int64_t kWorthMovingNs = 50'000;
/// Longer stages run on the driver's thread alone. A waiting caller steps for all requests. It may
/// compute the stage of another request, and then gets its own reply late by as much.
constexpr std::int64_t kWorthADriverNs = 1'000'000;
/// Steps of an assisting thread that has other work. One takes up the end of a stage and starts the
/// next stages, one fills the slot of an answered request, and in the third nothing moves: then the
/// driver's thread need not be woken.
constexpr int kAssistingRounds = 3;

/// Places for threads that step.
class Places {
 public:
  explicit Places(std::int32_t count) : num_free_(count) {}

  bool try_take() {
    std::int32_t free = num_free_.load(std::memory_order_relaxed);
    while (free > 0) {
      if (num_free_.compare_exchange_weak(free, free - 1, std::memory_order_acquire)) return true;
    }
    return false;
  }
  void take() {
    while (!try_take()) num_free_.wait(0);
  }
  void give_back() {
    num_free_.fetch_add(1, std::memory_order_release);
    num_free_.notify_one();
  }

 private:
  std::atomic<std::int32_t> num_free_;
};

class ThreadDriver final : public Driver {
 public:
  ThreadDriver(Steppable& machine, Clock& clock, std::vector<std::int32_t> cpus,
               std::int32_t num_places)
      : machine_(machine), clock_(clock), cpus_(std::move(cpus)), places_(num_places) {
    for (std::int32_t i = 0; i < num_places; ++i) start_thread();
  }

  ~ThreadDriver() override {
    is_stopping_.store(true, std::memory_order_release);
    for (std::size_t i = 0; i < threads_.size(); ++i) notify();
    for (std::thread& thread : threads_) thread.join();
  }

  void notify() override {
    with_lock(mutex_, [&] { ++signals_; });
    work_.notify_one();
  }

  // Prevents a lost wake-up without a lock. A waiter increments num_waiting_ and then evaluates its
  // condition; the caller of announce changes the condition and then reads num_waiting_ by a
  // read-modify-write. Whichever of the two comes second sees the change of the other.
  void announce() override {
    if (num_waiting_.fetch_add(0) == 0) return;
    { const std::lock_guard lock(mutex_); }
    done_.notify_all();
  }

  bool has_threads() const override { return true; }

  void assist(const std::function<bool()>& is_wanted) override {
    if (!places_.try_take())
      return notify();  // whoever has the place may have checked the stages already
    int rounds = 0;
    const std::function<bool()> is_over = [&] {
      return ++rounds > kAssistingRounds && is_wanted();
    };
    const StepResult last = step_until(is_over, kNoDeadline);
    places_.give_back();
    if (last.has_moved || last.is_running) notify();
  }

  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    if (is_done()) return true;
    bool needs_thread = true;
    if (stage_ns_.load(std::memory_order_relaxed) < kWorthADriverNs && places_.try_take()) {
      const StayOn on_cores(is_worth_moving() ? std::span<const std::int32_t>(cpus_)
                                              : std::span<const std::int32_t>());
      const StepResult last = step_until(is_done, deadline_ns);
      places_.give_back();
      needs_thread = last.is_running || last.next_deadline_ns < sleeps_until_ns_ || !is_done();
    }
    if (needs_thread) notify();
    num_waiting_.fetch_add(1);
    {
      std::unique_lock lock(mutex_);
      while (!is_done() && clock_.now_ns() < deadline_ns) {
        clock_.wait_until(lock, done_, deadline_ns);
      }
    }
    num_waiting_.fetch_sub(1);
    return is_done();
  }

 private:
  /// Whether to move the caller's thread to the group's processors, so that it does not compute on
  /// those of another group. The system usually leaves the thread there afterwards, where its next
  /// request finds it.
  bool is_worth_moving() const {
    return stage_ns_ >= kWorthMovingNs && std::ranges::find(cpus_, sched_getcpu()) == cpus_.end();
  }

  /// Without a further thread those that are there do the work. Throws if there is none.
  void start_thread() {
    try {
      threads_.emplace_back([this] {
        stay_on(cpus_);
        run();
      });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;
    }
  }

  /// As `pump`. Requires: the caller has a place.
  StepResult step_until(const std::function<bool()>& is_stop, std::int64_t deadline_ns) {
    return pump(machine_, clock_, is_stop, deadline_ns, [this](const StepResult& step) {
      if (step.longest_stage_ns > 0) stage_ns_ = step.longest_stage_ns;
    });
  }

  void run() {
    const std::function<bool()> is_stop = [this] {
      return is_stopping_.load(std::memory_order_acquire);
    };
    std::uint64_t seen = 0;
    while (!is_stop()) {
      places_.take();
      const StepResult result = step_until(is_stop, kNoDeadline);
      places_.give_back();
      std::int64_t until_ns = result.next_deadline_ns;
      if (result.is_running) until_ns = std::min(until_ns, clock_.now_ns() + kBusyNapNs);
      seen = sleep(seen, until_ns);
    }
  }

  /// Waits for a signal after number `seen`, or the deadline; returns the number of signals.
  std::uint64_t sleep(std::uint64_t seen, std::int64_t deadline_ns) {
    std::unique_lock lock(mutex_);
    sleeps_until_ns_ = deadline_ns;
    while (signals_ == seen && clock_.now_ns() < deadline_ns) {
      clock_.wait_until(lock, work_, deadline_ns);
    }
    sleeps_until_ns_ = kNoDeadline;
    return signals_;
  }

  Steppable& machine_;
  Clock& clock_;
  const std::vector<std::int32_t> cpus_;
  Places places_;
  /// Time of the last stage; the first is taken for a long one. Written by a thread with a place.
  std::atomic<std::int64_t> stage_ns_ = kWorthADriverNs;
  std::mutex mutex_;
  std::condition_variable work_;  ///< wakes a thread
  std::condition_variable done_;  ///< wakes waiting callers
  std::uint64_t signals_ = 0;
  /// A thread sees an earlier deadline only after a notification. kNoDeadline while the last one
  /// that slept is awake: then any deadline notifies, because its last step may have been before.
  std::atomic<std::int64_t> sleeps_until_ns_ = kNoDeadline;
  std::atomic<int> num_waiting_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::vector<std::thread> threads_;  ///< last: they use the members above
};

}  // namespace

std::unique_ptr<Driver> ThreadDrivers::drive(Steppable& machine, std::vector<std::int32_t> cpus,
                                             std::int32_t num_places) {
  return std::make_unique<ThreadDriver>(machine, clock_, std::move(cpus), num_places);
}

std::unique_ptr<Driver> ThreadDrivers::drive_by_callers(Steppable& machine) {
  return std::make_unique<CallerDriver>(machine, clock_);
}

}  // namespace sluice::runtime
