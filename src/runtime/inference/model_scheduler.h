// The scheduler of a model: takes requests through the stages of its pipeline.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/inference/driver.h"
#include "runtime/inference/nan_policy.h"
#include "runtime/line/forecast.h"
#include "runtime/line/waiting_line.h"
#include "runtime/pipeline/lane_thread.h"
#include "runtime/profile/profiler.h"
#include "runtime/request/joined_rows.h"
#include "runtime/statistics/model_statistics.h"
#include "terms/load.h"

namespace sluice::runtime {

class Pipeline;

struct SchedulerOptions {
  std::string name;  ///< of the model, for messages
  int depth = 1;
  int queue_limit = 0;                  ///< requests beyond `depth`; one more is refused
  int weight = 1;                       ///< among the models that share a group
  std::int64_t max_run_ns = 0;          ///< as terms::LoadOptions; 0: none
  std::int64_t request_timeout_ns = 0;  ///< the same
  terms::NanPolicy nan_policy = terms::NanPolicy::kPass;
  terms::ReplyDetail where;                          ///< group, cores and backends
  std::vector<std::vector<LaneCores>> lanes = {};    ///< of the pipeline, for statistics
  std::vector<std::vector<std::int32_t>> cpus = {};  ///< by lane: affinity of its thread
  /// Gets the spans of requests while a profile is recording; outlives the scheduler. Null: none.
  Profiler* profiler = nullptr;
  std::shared_ptr<const terms::ProfiledModel> profiled = nullptr;  ///< the model in the profile
};

/// A request waits in the line until a slot is free, passes the stages in that slot, and is
/// answered. A lane runs one slot at a time, in the order in which the slots were filled, so the
/// slots form a pipeline. A model with several compute lanes has a thread for each, which runs its
/// long stages, if the driver has threads; all other stages start in a step. With a join rule a
/// slot runs several requests as one, its parts.
///
///     submit --> waiting line --(slot free)--> stage 0 --> stage 1 --> ... --> reply
///                  |                             |
///                  +---- expired, cancelled -----+--> reply; the slot is free after its stage
///
/// Invariants:
/// - Every accepted request is answered exactly once: whoever removes it from `line_` or from
///   `Running::parts`, or sets `Running::is_answered`, calls `answer`.
/// - `in_flight_` counts accepted requests without a reply, at most depth() + queue_limit.
///   `num_busy_` also counts joined runs, and slots whose request was answered while a stage still
///   ran: a model is idle at 0.
/// - A request is in `line_`, or its id is in `running_by_id_`, or it was answered.
///
/// Threads: any thread may call `submit` and `cancel`; one at a time calls `step`, which alone
/// touches the pipeline, the slots and `running_`; a lane's thread has one slot and its Running
/// while `is_on_thread`. Callbacks run in `step`, `cancel` or
/// `cancel_all`, without `mutex_`. Lock order: GroupScheduler::step_mutex_, then `mutex_`. Code
/// that holds `mutex_` calls neither the driver nor a callback.
class ModelScheduler final : public RequestSink, public Steppable {
 public:
  /// Refuses until `accept`. `clock` outlives it.
  ModelScheduler(std::unique_ptr<Pipeline> pipeline, SchedulerOptions options, Clock& clock);
  ~ModelScheduler() override;

  // RequestSink
  const terms::Signature& signature() const override {
    return *signature_.load(std::memory_order_acquire);
  }
  int depth() const override { return options_.depth * static_cast<int>(batch_rows()); }
  std::int64_t batch_rows() const override { return batch_rows_.load(std::memory_order_acquire); }
  bool is_full() const override;
  Clock& clock() const override { return clock_; }
  const void* left_on() const override { return batch_rows() > 1 ? nullptr : left_on_; }
  std::shared_ptr<const package::Executable> executable() const override {
    return executable_.lock();
  }
  /// Requests that wait already run alone.
  Status join(const terms::BatchOptions& options) override;
  Result<std::uint64_t> submit(Request& request) override;
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  void tell_waiters() override;

  // Steppable
  StepResult step(std::int64_t now_ns) override { return step(now_ns, /*may_start=*/true); }
  /// Starts no waiting request unless `may_start`.
  StepResult step(std::int64_t now_ns, bool may_start);

  // In or between steps, by the stepping thread.

  /// Whether a request waits for a slot.
  bool has_waiting() const;
  /// Whether a request occupies a slot.
  bool is_occupied() const { return !running_.empty(); }
  /// Requests that passed all stages, and their compute time, since the load.
  struct Work {
    std::int64_t num_requests = 0;
    std::int64_t compute_ns = 0;
  };
  const Work& work() const { return work_; }

  /// Sets the driver, once, before the first request.
  void set_driver(std::shared_ptr<Driver> driver);
  void accept();
  /// New requests fail with `reason`. Accepted requests continue.
  void refuse(const Status& reason);
  /// Cancels all requests in flight, as `cancel` does.
  void cancel_all(const std::string& why);
  /// No request is in flight and no stage runs.
  bool is_idle() const { return num_busy_.load(std::memory_order_acquire) == 0; }
  /// For how long a run has gone on that was to stop, at a deadline, a limit or a cancel; 0: none.
  /// A plug-in that asks whether to stop ends it within milliseconds. From any thread.
  std::int64_t overdue_ns() const;
  /// A device was lost, and all requests in flight were answered with kDeviceError.
  bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }
  /// The next step answers all requests in flight with kDeviceError, running stages or not.
  void give_up(const Status& why);
  /// Sets a new pipeline after a failure; null frees the memory of the old one. Requires: is_idle,
  /// and the model is not active in its group, so no thread steps it.
  void replace(std::unique_ptr<Pipeline> pipeline);

  /// Null after `replace(nullptr)`. Requires: as `replace`.
  const Pipeline* pipeline() const { return pipeline_.get(); }
  const SchedulerOptions& options() const { return options_; }
  ModelStatistics& statistics() { return *statistics_; }
  std::shared_ptr<const ModelStatistics> shared_statistics() const { return statistics_; }

 private:
  static constexpr std::size_t kNoSlot = static_cast<std::size_t>(-1);
  struct Part {
    PendingRequest pending;
    std::int64_t first_row = 0;
    bool is_cancelled = false;  ///< while the inputs were copied
  };
  struct Running {
    PendingRequest pending;  ///< of a joined run the request that runs, which nobody sent
    bool is_joined = false;
    bool is_copied = false;   ///< the inputs of all parts: nobody reads their memory any more
    std::vector<Part> parts;  ///< of a joined run, those without an answer; under mutex_
    std::shared_ptr<const JoinRule> rule;  ///< of the model when the run began; null: none
    std::int64_t num_rows = 0;             ///< of a joined run, with those that fill it up
    std::int64_t first_row = 0;  ///< of the pass: a request of more rows than a run takes several
    Request pass;                ///< its rows
    Reply passed;                ///< the outputs of the passes before
    std::size_t slot = kNoSlot;  ///< kNoSlot: sweep removes it
    std::size_t stage = 0;
    bool is_in_stage = false;
    bool is_on_thread = false;  ///< of the lane, since the stage's start
    bool is_answered = false;
    std::atomic<bool> is_cancelled = false;  ///< set by any thread, under mutex_
    Status verdict;                          ///< not ok: the reply, after the running stage
    std::int64_t start_ns = 0;               ///< when it got the slot
    std::int64_t ends_ns = kNoDeadline;      ///< then its time limit stops it
    std::int64_t stopped_ns = kNoDeadline;   ///< when a step saw that it was cancelled
    std::int64_t stage_start_ns = 0;
    std::int64_t stage_end_ns = 0;  ///< of a stage on a thread
    RequestTimes times;
    std::vector<terms::StageTime> stages;  ///< for requests that want their detail
  };
  struct Lane {
    bool is_taken = false;
    std::int64_t last_ns = 0;            ///< duration of the last stage
    std::unique_ptr<LaneThread> thread;  ///< null: stages run in the step
  };

  // For submitters.
  Status check(const Request& request) const;
  Result<std::uint64_t> enter(Request& request);
  int num_waiting() const;
  bool has_no_place() const;
  void answer(PendingRequest& pending, Reply reply);
  void answer_error(PendingRequest& pending, const Status& status);
  void release_one();
  bool is_profiled() const { return options_.profiler != nullptr && options_.profiler->is_on(); }
  /// A span of the request `id` has ended.
  void profile(terms::SpanKind kind, std::uint64_t id, std::int64_t start_ns, std::int64_t end_ns,
               std::size_t lane = 0, RuntimeCode code = RuntimeCode::kOk);
  void open_slots();

  // For the driver (model_scheduler_step.cc, model_scheduler_stage.cc).
  void open_lanes();
  bool obey_doom();
  bool drop_expired(std::int64_t now_ns);
  bool drop_running(std::int64_t now_ns);
  std::int64_t max_run_ns(const Running& running) const;
  Status too_long(const Running& running) const;
  Status reason_to_end(const Running& running, std::int64_t now_ns) const;
  std::int64_t end_due_ns(Running& running) const;
  void note_stop();
  void drop(Running& running, const Status& why);
  bool drop_late(std::int64_t now_ns);
  bool fill_slots(std::int64_t now_ns);
  Status prepare(Running& running);
  bool advance(Running& running);
  bool start_stage(Running& running);
  Status start_pipeline(const Running& running);
  Status start_observed(const Running& running);
  Status run_on_thread(Running& running);
  bool poll_stage(Running& running);
  void leave_stage(Running& running, std::int64_t end_ns);
  void note_stage(Running& running, std::int64_t duration_ns) const;
  void fail_stage(Running& running, const Status& status, std::int64_t end_ns);
  void abandon_stage(Running& running);
  void complete(Running& running);
  void end(Running& running, const Status& status);
  void count_work(const Running& running, const Request& request, std::int64_t num_requests);
  std::int64_t record_run(const Running& running);
  void note_late(const Request& request, std::int64_t start_ns);
  void note_recorded_bytes(std::size_t slot);
  Reply make_reply(Running& running);
  void apply_nan_policy(Reply& reply) const;
  Status classify(const Status& status) const;
  void fail(Running& running, const Status& status);
  void fail_all(const Status& status);
  void free_slot(Running& running);
  void sweep();
  StepResult result(bool has_moved, std::int64_t now_ns);
  std::function<Status()> checkpoint_of(Running& running);

  // Joined runs (model_scheduler_join.cc).
  struct Run {
    std::size_t num_requests = 0;
    std::int64_t num_rows = 0;
    bool is_due = false;
  };
  Run next_run(std::int64_t now_ns) const;
  std::int64_t join_due_ns() const;
  bool take_run(Running& running, std::int64_t now_ns);
  Status copy_parts(Running& running);
  Status prepare_pass(Running& running);
  bool takes_passes(const Running& running) const;
  std::optional<PendingRequest> take_part(Running& running, std::uint64_t id);
  std::vector<PendingRequest> take_parts(Running& running, std::int64_t deadline_ns);
  bool expire_parts(Running& running, std::int64_t now_ns);
  static Status fetch_rows(const Running& running);
  void complete_joined(Running& running, const Reply& reply);
  void complete_pass(Running& running, const Reply& reply);
  Status lacks_rows() const;
  void run_alone(Running& running, const Status& why);

  std::unique_ptr<Pipeline> pipeline_;
  std::vector<std::int64_t> recorded_bytes_;  ///< by slot, after its last request
  const terms::Signature model_signature_;
  /// For `join`, which any thread may call while a pipeline is replaced.
  const std::weak_ptr<const package::Executable> executable_;
  std::atomic<const terms::Signature*> signature_;  ///< the model's, or the rule's
  const SchedulerOptions options_;
  Clock& clock_;
  std::shared_ptr<Driver> driver_;
  const std::shared_ptr<ModelStatistics> statistics_;  ///< shared with the group
  const std::size_t num_slots_;
  const void* const left_on_;  ///< of every pipeline of the model; null: outputs are looked at

  mutable std::mutex mutex_;                 ///< guards the members below, up to running_by_id_
  WaitingLine<> line_;                       ///< requests without a slot
  std::shared_ptr<const JoinRule> joining_;  ///< null: every request runs alone; else it stays
  Forecast forecast_;
  Status refusal_;
  Status doom_;  ///< not ok: the status of give_up
  int in_flight_ = 0;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Running*> running_by_id_;  ///< of requests without an answer

  // Used by the stepping thread alone.
  std::vector<std::unique_ptr<Running>> running_;  ///< in the order of their start
  std::vector<std::size_t> free_slots_;
  Work work_;
  int num_in_stage_ = 0;
  std::int64_t longest_stage_ns_ = 0;  ///< of those that ended in the current step
  std::int64_t busy_since_ns_ = 0;

  std::atomic<int> num_busy_ = 0;  ///< requests in flight, and occupied slots of answered requests
  std::atomic<bool> has_failed_ = false;
  std::atomic<std::int64_t> batch_rows_ = 1;
  /// No request in `line_` has an earlier deadline. Written under `mutex_`.
  std::atomic<std::int64_t> line_deadline_ns_ = kNoDeadline;
  /// When the first of the stages that run has to have ended. Set before a stage, whose thread may
  /// be this one, and by cancels; each step sets it anew.
  std::atomic<std::int64_t> stage_due_ns_ = kNoDeadline;
  std::vector<Lane> lanes_;  ///< the stepping thread's; last: their threads use the members above
};

}  // namespace sluice::runtime
