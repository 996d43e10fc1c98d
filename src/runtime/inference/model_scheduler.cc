#include "runtime/inference/model_scheduler.h"

#include <algorithm>
#include <utility>

#include "base/process/with_lock.h"
#include "base/text/plural.h"
#include "runtime/pipeline/pipeline.h"

namespace sluice::runtime {

ModelScheduler::ModelScheduler(std::unique_ptr<Pipeline> pipeline, SchedulerOptions options,
                               Clock& clock)
    : pipeline_(std::move(pipeline)),
      model_signature_(pipeline_->model().signature()),
      executable_(pipeline_->model().shared_executable()),
      signature_(&model_signature_),
      options_(std::move(options)),
      clock_(clock),
      statistics_(std::make_shared<ModelStatistics>(options_.lanes)),
      num_slots_(pipeline_->num_slots()),
      left_on_(options_.nan_policy == terms::NanPolicy::kPass ? pipeline_->left_on() : nullptr) {
  refusal_ = terms::runtime_error(RuntimeCode::kFailed,
                                  "model \"{}\" is not started; start it first", options_.name);
  open_slots();
}

ModelScheduler::~ModelScheduler() = default;

void ModelScheduler::set_driver(std::shared_ptr<Driver> driver) {
  driver_ = std::move(driver);
  open_lanes();
}

void ModelScheduler::replace(std::unique_ptr<Pipeline> pipeline) {
  lanes_.clear();  // joins their threads
  pipeline_ = std::move(pipeline);
  recorded_bytes_.clear();
  statistics_->set_recorded_bytes(0);
  if (pipeline_ == nullptr) return;
  open_slots();
  has_failed_.store(false, std::memory_order_release);
}

void ModelScheduler::give_up(const Status& why) {
  with_lock(mutex_, [&] { doom_ = why; });
  // Outside of the lock: the driver takes it as soon as it wakes.
  if (driver_ != nullptr) driver_->notify();
}

void ModelScheduler::open_slots() {
  free_slots_.clear();
  // The list is a stack: slot 0 goes first, so few requests touch the memory of few slots.
  for (std::size_t slot = pipeline_->num_slots(); slot > 0; --slot) free_slots_.push_back(slot - 1);
  open_lanes();
}

Status ModelScheduler::check(const Request& request) const {
  const std::size_t expected = signature().inputs.size();
  if (request.inputs.size() != expected) {
    return terms::runtime_error(RuntimeCode::kBadInput, "model \"{}\" takes {}, got {}",
                                options_.name, counted(expected, "input"), request.inputs.size());
  }
  if (request.deadline_ns != kNoDeadline && request.deadline_ns <= clock_.now_ns()) {
    return terms::runtime_error(RuntimeCode::kTimeout,
                                "model \"{}\": the deadline had passed before the request came",
                                options_.name);
  }
  return ok_status();
}

/// Requests beyond the slots. A request passes through `line_` even if a slot is free, because only
/// the driver's thread fills slots; so the size of `line_` would count requests that do not wait.
int ModelScheduler::num_waiting() const {
  const std::size_t num_running = std::max(num_slots_, running_by_id_.size());
  return std::max(in_flight_ - static_cast<int>(num_running), 0);
}

bool ModelScheduler::is_full() const {
  const std::lock_guard lock(mutex_);
  return has_no_place();
}

/// Requires: mutex_ is held.
bool ModelScheduler::has_no_place() const { return in_flight_ >= depth() + options_.queue_limit; }

/// Requires: mutex_ is held.
Result<std::uint64_t> ModelScheduler::enter(Request& request) {
  SLUICE_TRY(Status(refusal_));
  // Refused at once with the time to retry: a request that waits without a bound costs its inputs'
  // memory and helps no caller.
  if (has_no_place()) {
    return queue_full(options_.name, num_waiting(), options_.queue_limit,
                      forecast_.retry_after_ns(num_waiting()));
  }
  const std::int64_t now_ns = clock_.now_ns();
  // The model was idle: the time since the last completion says nothing about its speed.
  if (in_flight_ == 0) forecast_.resume(now_ns);
  const bool is_busy = in_flight_ >= static_cast<int>(num_slots_);
  const std::int64_t in_line = is_busy ? line_.num_ahead(request) : std::int64_t{0};
  const std::int64_t wait_ns = is_busy ? forecast_.wait_ns(in_line, now_ns) : std::int64_t{0};
  if (forecast_.is_hopeless(request, wait_ns, now_ns)) {
    return forecast_.too_late(fmt::format("model \"{}\"", options_.name), request, wait_ns, now_ns);
  }
  // Under the lock: the ids in the line count up in the order of arrival.
  const std::uint64_t id = next_id_++;
  ++in_flight_;
  num_busy_.fetch_add(1, std::memory_order_acq_rel);
  // The earliest deadline of the line, so that the driver need not search it at each step.
  if (request.deadline_ns < line_deadline_ns_) line_deadline_ns_ = request.deadline_ns;
  const std::int64_t rows = joining_ ? rows_of(request, *joining_) : 0;
  const std::int64_t since_ns = request.since_ns != 0 ? request.since_ns : now_ns;
  const std::int64_t num_ahead =
      is_busy ? in_line + static_cast<std::int64_t>(running_by_id_.size()) : std::int64_t{0};
  line_.push({id, since_ns, std::move(request), rows, num_ahead});
  statistics_->set_waiting(num_waiting());
  return id;
}

Result<std::uint64_t> ModelScheduler::submit(Request& request) {
  const bool will_wait = request.will_wait;
  request.limit(clock_, options_.request_timeout_ns);
  Result<std::uint64_t> id = std::uint64_t{0};
  if (const Status status = check(request); !status.is_ok()) {
    id = status;
  } else {
    const std::lock_guard lock(mutex_);
    id = enter(request);
  }
  if (!id.is_ok()) {
    statistics_->count_refused();
    return id;
  }
  statistics_->count_accepted();
  if (driver_ != nullptr && !will_wait) driver_->notify();
  return id;
}

bool ModelScheduler::cancel(std::uint64_t id) {
  std::optional<PendingRequest> ended;
  std::string_view when = "waiting";
  // A waiting request and a part of a joined run are answered here. The pipeline belongs to the
  // driver, so another running request is only marked, and the next step answers it.
  {
    const std::lock_guard lock(mutex_);
    ended = line_.take(id);
    if (!ended) {
      const auto found = running_by_id_.find(id);
      if (found == running_by_id_.end()) return false;
      when = "running";
      Running& running = *found->second;
      ended = take_part(running, id);  // which may erase `found`
      // The next step undoes it if no stage runs.
      if (running.is_cancelled) note_stop();
    }
  }
  if (ended) {
    answer_error(*ended,
                 terms::runtime_error(RuntimeCode::kCancelled, "model \"{}\": cancelled while {}",
                                      options_.name, when));
    release_one();
  }
  if (driver_ != nullptr) driver_->notify();
  return true;
}

void ModelScheduler::cancel_all(const std::string& why) {
  std::vector<PendingRequest> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = line_.take_all();
    const auto running_by_id = running_by_id_;  // take_part erases
    for (const auto& [id, running] : running_by_id) {
      if (auto part = take_part(*running, id)) ended.push_back(std::move(*part));
    }
  }
  for (PendingRequest& pending : ended) {
    answer_error(pending, terms::runtime_error(RuntimeCode::kCancelled, "{}", why));
    release_one();
  }
  if (driver_ != nullptr) driver_->notify();
}

bool ModelScheduler::wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  return driver_ != nullptr ? driver_->wait(is_done, deadline_ns) : is_done();
}

bool ModelScheduler::has_waiting() const {
  const std::lock_guard lock(mutex_);
  return joining_ ? next_run(clock_.now_ns()).is_due : !line_.empty();
}

void ModelScheduler::accept() {
  const std::lock_guard lock(mutex_);
  refusal_ = ok_status();
}

void ModelScheduler::refuse(const Status& reason) {
  const std::lock_guard lock(mutex_);
  refusal_ = reason;
}

void ModelScheduler::answer(PendingRequest& pending, Reply reply) {
  // Before the callback, which may submit a request in the place of this one.
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    statistics_->set_waiting(num_waiting());
    running_by_id_.erase(pending.id);
  }
  statistics_->count_answer(reply.code);
  if (is_profiled()) {
    profile(terms::SpanKind::kRequest, pending.id, pending.submitted_ns, clock_.now_ns(), 0,
            reply.code);
  }
  // Moved out: the callback may destroy what owns this request.
  const auto on_done = std::move(pending.request.on_done);
  if (on_done) on_done(std::move(reply));
  tell_waiters();
}

void ModelScheduler::tell_waiters() {
  if (driver_ != nullptr) driver_->announce();
}

void ModelScheduler::release_one() {
  num_busy_.fetch_sub(1, std::memory_order_acq_rel);
  tell_waiters();
}

void ModelScheduler::answer_error(PendingRequest& pending, const Status& status) {
  answer(pending, failed_reply(status));
}

}  // namespace sluice::runtime
