// A model's requests on their way through its pipeline: what may start now, what has completed?
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/inference/driver.h"
#include "runtime/inference/nan_policy.h"
#include "runtime/inference/pipeline.h"
#include "runtime/inference/request_queue.h"
#include "runtime/profile/profiler.h"
#include "runtime/statistics/model_statistics.h"

namespace sluice::runtime {

struct SchedulerOptions {
  std::string name;  ///< of the model, for messages
  int depth = 1;     ///< most requests in flight, waiting ones included
  NanPolicy nan_policy = NanPolicy::kPass;
  ReplyDetail where;                               ///< group, cores and backends
  std::vector<std::vector<LaneCores>> lanes = {};  ///< of the pipeline, for statistics
  /// Told what requests do while somebody takes a profile; outlives the scheduler. Null: nobody.
  Profiler* profiler = nullptr;
  std::shared_ptr<const ProfiledModel> profiled = nullptr;  ///< as what the profiler is told
};

/// A request waits in the queue until a slot is free, takes the slot through the stages, one after
/// the other, and is answered. A stage's lane takes one slot at a time, those that came first
/// first; so several slots move through the stages like boats through locks.
///
///     submit --> queue --(slot free)--> stage 0 --> stage 1 --> ... --> answer
///                  |                       |
///                  +-- expired, cancelled -+--> answer; the slot is free when its stage is done
///
/// `submit` and `cancel` from any thread; `step` by one thread at a time. Callbacks run inside
/// `step`, `cancel` or `refuse`, with no lock held.
class ModelScheduler final : public RequestSink, public Steppable {
 public:
  /// Refuses until `accept`. `clock` outlives it.
  ModelScheduler(std::unique_ptr<Pipeline> pipeline, SchedulerOptions options, Clock& clock);

  // RequestSink
  const package::Signature& signature() const override { return signature_; }
  int depth() const override { return options_.depth; }
  Clock& clock() const override { return clock_; }
  Result<std::uint64_t> submit(Request& request) override;
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  void tell_waiters() override;

  // Steppable
  StepResult step(std::int64_t now_ns) override;

  /// Who steps it. Once, before the first request.
  void set_driver(std::shared_ptr<Driver> driver) { driver_ = std::move(driver); }
  void accept();
  /// Submissions fail with `reason` from now on. Those accepted go on.
  void refuse(const Status& reason);
  /// Answers everything that is in flight with kCancelled, as `cancel` does.
  void cancel_all(const std::string& why);
  /// No request is in flight and no stage runs.
  bool is_idle() const { return num_busy_.load(std::memory_order_acquire) == 0; }
  /// Set when a device was lost: everything in flight was answered with kDeviceError.
  bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }
  /// At the next step everything in flight is answered with kDeviceError, whatever it waits for.
  void give_up(const Status& why);
  /// A new pipeline after a failure; null frees the old one's memory. Requires: is_idle, and nobody
  /// steps: the group does not have it active.
  void replace(std::unique_ptr<Pipeline> pipeline);

  /// Null after `replace(nullptr)`. By whoever may call `replace`.
  const Pipeline* pipeline() const { return pipeline_.get(); }
  const SchedulerOptions& options() const { return options_; }
  ModelStatistics& statistics() { return *statistics_; }
  std::shared_ptr<const ModelStatistics> shared_statistics() const { return statistics_; }

 private:
  static constexpr std::size_t kNoSlot = static_cast<std::size_t>(-1);
  struct Running {
    PendingRequest pending;
    std::size_t slot = kNoSlot;  ///< none: it is done with
    std::size_t stage = 0;
    bool is_in_stage = false;
    bool is_answered = false;
    Status verdict;  ///< not ok: its answer, as soon as its stage is done
    std::int64_t stage_start_ns = 0;
    RequestTimes times;
  };

  // For submitters.
  Status check(const Request& request) const;
  void answer(PendingRequest& pending, Reply reply);
  void answer_error(PendingRequest& pending, const Status& status);
  void release_one();
  bool is_profiled() const { return options_.profiler != nullptr && options_.profiler->is_on(); }
  /// A span of the request `id` has ended.
  void profile(SpanKind kind, std::uint64_t id, std::int64_t start_ns, std::int64_t end_ns,
               std::size_t lane = 0, RuntimeCode code = RuntimeCode::kOk);
  void open_slots();

  // For the driver (model_scheduler_step.cc).
  bool obey_doom();
  bool drop_expired(std::int64_t now_ns);
  bool drop_running(std::int64_t now_ns);
  void drop(Running& running, const Status& why);
  bool fill_slots();
  bool advance(Running& running);
  bool start_stage(Running& running);
  Status start_pipeline(const Running& running);
  Status start_observed(const Running& running);
  bool poll_stage(Running& running);
  void leave_stage(Running& running);
  void complete(Running& running);
  Reply make_reply(Running& running);
  void fail(Running& running, const Status& status);
  void fail_all(const Status& status);
  void free_slot(Running& running);
  void sweep();
  StepResult result(bool has_moved);

  std::unique_ptr<Pipeline> pipeline_;
  const package::Signature signature_;
  const SchedulerOptions options_;
  Clock& clock_;
  std::shared_ptr<Driver> driver_;
  const std::shared_ptr<ModelStatistics> statistics_;  ///< its group reads it too

  mutable std::mutex mutex_;  ///< guards what submitters and the driver share
  RequestQueue queue_;
  Status refusal_;
  Status doom_;  ///< not ok: give_up's
  int in_flight_ = 0;
  std::uint64_t next_id_ = 1;
  std::set<std::uint64_t> running_ids_;
  std::set<std::uint64_t> cancelled_ids_;

  // The driver's own.
  std::vector<std::unique_ptr<Running>> running_;  ///< in the order in which they started
  std::vector<std::size_t> free_slots_;
  std::vector<bool> is_lane_taken_;
  int num_in_stage_ = 0;
  std::int64_t busy_since_ns_ = 0;

  std::atomic<int> num_busy_ = 0;  ///< requests in flight and slots that are not free
  std::atomic<bool> has_failed_ = false;
};

}  // namespace sluice::runtime
