// A core group that functions share in turns.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/inference/thread_driver.h"
#include "sandbox/function.h"
#include "sandbox/lane_host.h"

namespace sluice::sandbox {

/// Where the turns of a lane run.
struct LanePlaces {
  std::int32_t count = 1;               ///< turns at a time
  std::vector<std::int32_t> cpus = {};  ///< processors of their threads; empty: any
};

/// Runs one function on each of its places, whichever has waited for its turn: no place is idle
/// while a function that does not run has requests. A step takes as many requests of the function
/// whose turn it is as its model runs at the same time, loads the function if it is cold, and runs
/// them. Functions are loaded side by side. Steps run on the driver's threads, or on that of a
/// caller who waits for a short request.
///
/// In a cell the functions' models are those of a group with one active model, and a turn makes
/// its function's the active one, which costs microseconds.
///
/// Invariants:
/// - An accepted request is in `pending_` until its reply; whoever removes it answers it.
/// - Only a step loads, starts, stops and unloads models of the group. `Function::work` says that
///   it has the function; no other step touches that one.
/// - A lane with several places has a host with one life.
/// - `active_` holds for one life of the host. In the next one a step asks the host for the phases.
/// - `mutex_` is not held while a callback, the host or the driver is called: the driver evaluates
///   conditions that take it.
///
/// Safe from any thread.
class Lane final : public runtime::Steppable {
 public:
  /// `group` is one that `host` created; the lane destroys it in `shutdown`.
  Lane(LaneHost host, terms::CoreGroupId group, LanePlaces places = {});
  ~Lane() override;

  terms::CoreGroupId group() const { return group_; }
  Clock& clock() const { return clock_; }
  const runtime::ModelHost* host() const { return host_.models; }
  std::int32_t num_places() const { return num_places_; }
  /// Grows with the shares of the lane's functions, and with the bytes that their requests read.
  double expected_load() const;
  bool is_empty() const;

  void add(const std::shared_ptr<Function>& function);
  /// Loads the function unless it is warm. Blocks until the end of the current turn and the load.
  /// Fails: as Engine::load; kOutOfResources over the function's quota.
  Status warm(const std::shared_ptr<Function>& function);
  /// Unloads the function; its next request loads it. Blocks, as `warm`.
  Status cool(const std::shared_ptr<Function>& function);
  /// Refuses new requests and cancels those in flight; afterwards the lane holds nothing of it.
  /// Blocks, as `warm`.
  void remove(const std::shared_ptr<Function>& function);

  terms::FunctionState state(const Function& function) const;
  terms::ModelInfo info(const Function& function) const;
  runtime::ModelStatisticsSnapshot statistics(const Function& function) const;
  /// The health of its model in the host while it is warm, with what it has answered.
  terms::Health health(const Function& function) const;

  // As RequestSink says. A request whose inputs do not fit is accepted, and its reply is kBadInput.
  Result<std::uint64_t> submit(const std::shared_ptr<Function>& function,
                               runtime::Request& request);
  const void* left_on(const Function& function) const;  ///< null for a cold function
  bool is_full(const Function& function) const;
  bool cancel(std::uint64_t id);
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
    return driver_->wait(is_done, deadline_ns);
  }
  void tell_waiters() { driver_->announce(); }

  /// For the driver: a turn, or what comes before one.
  runtime::StepResult step(std::int64_t now_ns) override;

  /// Refuses new requests, cancels those in flight at `drain_deadline_ns`, and unloads all
  /// functions. May be called again.
  void shutdown(std::int64_t drain_deadline_ns);

 private:
  struct Pending {
    std::uint64_t id = 0;
    std::shared_ptr<Function> function;
    runtime::Request request;
    std::function<void(runtime::Reply)> on_done;
    bool is_waiting = true;
    bool is_cancelled = false;
    std::shared_ptr<runtime::RequestSink> sink;  ///< null until `inner_id` is known
    std::uint64_t inner_id = 0;
  };
  using Turn = std::vector<std::shared_ptr<Pending>>;
  struct Progress;
  using Lock = std::unique_lock<std::mutex>;

  Status ask(const std::shared_ptr<Function>& function, Function::Order order);
  static bool has_no_place(const Function& function);
  Status check(const Function& function, const runtime::Request& request) const;
  void leave_line(Pending& pending);
  void note_waiting(const Function& function);
  void note_cooling(const Function& function);
  static std::string subject(const Function& function);
  static Status cancelled(const Function& function);
  static Status closed();
  /// Whether the caller is the one to answer the request.
  bool claim(Pending& pending);
  void deliver(Pending& pending, runtime::Reply reply);
  /// Nothing if the request was answered before.
  void answer(Pending& pending, runtime::Reply reply);
  void refuse(Pending& pending, const Status& why);
  void cancel_all(const Function* function, const Status& why);

  // Steps (lane_step.cc).
  void hold(Function& function, Function::Work work);
  void release(Function& function);
  bool expire(Lock& lock);
  bool drop_late(Function& function, Lock& lock);
  std::shared_ptr<Function> next_to_obey() const;
  bool obey(Lock& lock);
  bool cool_idle(Lock& lock);
  std::int64_t next_event_ns() const;
  std::shared_ptr<Function> next_function() const;
  bool take_turn(Lock& lock);
  Status in_some_life(const std::function<Status()>& action);
  Result<HostLife> await_host();
  void learn_phases();
  Status make_warm(Function& function);
  Status make_active(Function& function);
  bool has_failed(const Function& function) const;
  terms::ModelPhase phase_in_host(const Function& function) const;
  void recover(Function& function);
  Status load(Function& function);
  Status check_quota(const Function& function, const terms::ModelInfo& info) const;
  bool make_room();
  void unload(Function& function);

  // Its runs (lane_turn.cc).
  Turn take(Function& function);
  bool run_turn(const Turn& turn);

  void start(const std::shared_ptr<Pending>& pending, const std::shared_ptr<Progress>& progress,
             runtime::RequestSink& sink);

  const LaneHost host_;
  Clock& clock_;
  const terms::CoreGroupId group_;
  const std::int32_t num_places_;

  mutable std::mutex mutex_;      ///< guards the members up to `is_over_`
  std::condition_variable ends_;  ///< `is_over_` was set
  runtime::Shares shares_;
  std::map<runtime::Shares::Id, std::shared_ptr<Function>> functions_;
  std::map<std::uint64_t, std::shared_ptr<Pending>> pending_;
  int num_orders_ = 0;
  std::int64_t next_deadline_ns_ = kNoDeadline;  ///< of no waiting request before
  std::int64_t next_cooling_ns_ = kNoDeadline;   ///< no function is to be unloaded before
  std::uint64_t next_id_ = 1;
  bool is_closed_ = false;
  int num_stepping_ = 0;
  bool is_over_ = false;  ///< steps do nothing any more

  // State of the step in progress in a cell, which has one place.
  Function* active_ = nullptr;  ///< the group's active model, in
  std::int64_t life_ = 0;       ///< this life of the host
  std::mutex shutdown_mutex_;
  bool is_shut_down_ = false;  ///< guarded by shutdown_mutex_
  runtime::ThreadDrivers drivers_;
  std::unique_ptr<runtime::Driver> driver_;  ///< last: its threads use the members above
};

}  // namespace sluice::sandbox
