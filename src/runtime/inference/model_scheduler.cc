#include "runtime/inference/model_scheduler.h"

#include <utility>

namespace sluice::runtime {

ModelScheduler::ModelScheduler(std::unique_ptr<Pipeline> pipeline, SchedulerOptions options,
                               Clock& clock)
    : pipeline_(std::move(pipeline)),
      signature_(pipeline_->model().signature()),
      options_(std::move(options)),
      clock_(clock),
      statistics_(std::make_shared<ModelStatistics>(options_.lanes)) {
  refusal_ = runtime_error(RuntimeCode::kFailed, "model \"{}\" is not started; start it first",
                           options_.name);
  open_slots();
}

void ModelScheduler::replace(std::unique_ptr<Pipeline> pipeline) {
  pipeline_ = std::move(pipeline);
  if (pipeline_ == nullptr) return;
  open_slots();
  has_failed_.store(false, std::memory_order_release);
}

void ModelScheduler::give_up(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    doom_ = why;
  }
  if (driver_ != nullptr) driver_->notify();
}

void ModelScheduler::open_slots() {
  free_slots_.clear();
  for (std::size_t slot = pipeline_->num_slots(); slot > 0; --slot) free_slots_.push_back(slot - 1);
  is_lane_taken_.assign(pipeline_->num_lanes(), false);
}

Status ModelScheduler::check(const Request& request) const {
  const std::size_t expected = signature().inputs.size();
  if (request.inputs.size() != expected) {
    return runtime_error(RuntimeCode::kBadInput, "model \"{}\" takes {} inputs, got {}",
                         options_.name, expected, request.inputs.size());
  }
  if (request.deadline_ns != kNoDeadline && request.deadline_ns <= clock_.now_ns()) {
    return runtime_error(RuntimeCode::kTimeout,
                         "model \"{}\": the deadline had passed before the request came",
                         options_.name);
  }
  return ok_status();
}

Result<std::uint64_t> ModelScheduler::submit(Request& request) {
  Status status = check(request);
  std::uint64_t id = 0;
  const bool will_wait = request.will_wait;
  if (status.is_ok()) {
    const std::lock_guard lock(mutex_);
    if (!refusal_.is_ok()) {
      status = refusal_;
    } else if (in_flight_ >= options_.depth) {
      status =
          runtime_error(RuntimeCode::kQueueFull,
                        "model \"{}\": {} requests are in flight, its depth; wait for an answer",
                        options_.name, in_flight_);
    } else {
      id = next_id_++;
      ++in_flight_;
      num_busy_.fetch_add(1, std::memory_order_acq_rel);
      queue_.push({id, clock_.now_ns(), std::move(request)});
    }
  }
  if (!status.is_ok()) {
    statistics_->count_refused();
    return status;
  }
  statistics_->count_accepted();
  if (driver_ != nullptr && !will_wait) driver_->notify();
  return id;
}

bool ModelScheduler::cancel(std::uint64_t id) {
  std::optional<PendingRequest> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting = queue_.take(id);
    if (!waiting) {
      if (!running_ids_.contains(id)) return false;
      cancelled_ids_.insert(id);
    }
  }
  if (waiting) {
    answer_error(*waiting, runtime_error(RuntimeCode::kCancelled,
                                         "model \"{}\": cancelled while waiting", options_.name));
    release_one();
  }
  if (driver_ != nullptr) driver_->notify();
  return true;
}

void ModelScheduler::cancel_all(const std::string& why) {
  std::vector<PendingRequest> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting = queue_.take_all();
    cancelled_ids_ = running_ids_;
  }
  for (PendingRequest& pending : waiting) {
    answer_error(pending, runtime_error(RuntimeCode::kCancelled, "{}", why));
    release_one();
  }
  if (driver_ != nullptr) driver_->notify();
}

bool ModelScheduler::wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  return driver_ != nullptr ? driver_->wait(is_done, deadline_ns) : is_done();
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
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    running_ids_.erase(pending.id);
    cancelled_ids_.erase(pending.id);
  }
  statistics_->count_answer(reply.code);
  if (is_profiled()) {
    profile(SpanKind::kRequest, pending.id, pending.submitted_ns, clock_.now_ns(), 0, reply.code);
  }
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
  answer(pending, {runtime_code_of(status), ErrorList(status), {}, {}});
}

}  // namespace sluice::runtime
