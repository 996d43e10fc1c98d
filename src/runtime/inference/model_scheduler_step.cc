// The half of the scheduler that its driver runs, one thread at a time.
#include <algorithm>
#include <utility>

#include "runtime/inference/model_scheduler.h"

namespace sluice::runtime {
namespace {

/// What a stage's error means to the request: a lost device, or what a kernel reported.
Status classify(const Status& status, const std::string& model) {
  const std::string message = fmt::format("model \"{}\": {}", model, status.message());
  if (status.detail() != 0) return Status(status.code(), status.detail(), message);
  switch (status.code()) {
    case Code::kUnavailable: return runtime_error(RuntimeCode::kDeviceError, "{}", message);
    case Code::kResourceExhausted:
      return runtime_error(RuntimeCode::kOutOfResources, "{}", message);
    default: return runtime_error(RuntimeCode::kCompletedWithError, "{}", message);
  }
}

SpanKind span_kind(StageKind stage) {
  switch (stage) {
    case StageKind::kCopyIn: return SpanKind::kCopyIn;
    case StageKind::kCopyOut: return SpanKind::kCopyOut;
    case StageKind::kCompute: break;
  }
  return SpanKind::kCompute;
}

}  // namespace

StepResult ModelScheduler::step(std::int64_t now_ns) {
  bool has_moved = obey_doom();
  has_moved |= drop_expired(now_ns);
  has_moved |= drop_running(now_ns);
  bool moves = true;
  while (moves) {
    moves = fill_slots();
    // An answer may let a callback submit, never touch running_.
    for (std::size_t i = 0; i < running_.size() && !has_failed(); ++i)
      moves |= advance(*running_[i]);
    sweep();
    has_moved |= moves;
  }
  return result(has_moved);
}

StepResult ModelScheduler::result(bool has_moved) {
  StepResult result = {has_moved, !running_.empty(), kNoDeadline};
  for (const auto& running : running_) {
    if (running->is_answered || !running->verdict.is_ok()) continue;
    result.next_deadline_ns =
        std::min(result.next_deadline_ns, running->pending.request.deadline_ns);
  }
  const std::lock_guard lock(mutex_);
  result.next_deadline_ns = std::min(result.next_deadline_ns, queue_.next_deadline_ns());
  return result;
}

bool ModelScheduler::obey_doom() {
  Status doom;
  {
    const std::lock_guard lock(mutex_);
    std::swap(doom, doom_);
  }
  if (doom.is_ok()) return false;
  fail_all(doom);
  sweep();
  return true;
}

bool ModelScheduler::drop_expired(std::int64_t now_ns) {
  std::vector<PendingRequest> expired;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return false;
    expired = queue_.take_expired(now_ns);
  }
  for (PendingRequest& pending : expired) {
    answer_error(
        pending,
        runtime_error(RuntimeCode::kTimeout,
                      "model \"{}\": the deadline passed while waiting for a slot", options_.name));
    release_one();
  }
  return !expired.empty();
}

bool ModelScheduler::drop_running(std::int64_t now_ns) {
  bool has_moved = false;
  for (const auto& running : running_) {
    if (running->is_answered || !running->verdict.is_ok()) continue;
    bool is_cancelled = false;
    {
      const std::lock_guard lock(mutex_);
      is_cancelled = cancelled_ids_.contains(running->pending.id);
    }
    if (is_cancelled) {
      drop(*running, runtime_error(RuntimeCode::kCancelled, "model \"{}\": cancelled while running",
                                   options_.name));
    } else if (running->pending.request.deadline_ns <= now_ns) {
      drop(*running,
           runtime_error(RuntimeCode::kTimeout, "model \"{}\": the deadline passed while running",
                         options_.name));
    } else {
      continue;
    }
    has_moved = true;
  }
  sweep();
  return has_moved;
}

/// The caller gets its answer now if its memory stays, else when nothing uses that any more.
void ModelScheduler::drop(Running& running, const Status& why) {
  running.verdict = why;
  if (!running.is_in_stage || running.pending.request.memory_owner != nullptr) {
    running.is_answered = true;
    answer_error(running.pending, why);
  }
  if (running.is_in_stage) return;
  free_slot(running);
  release_one();
}

bool ModelScheduler::fill_slots() {
  bool has_moved = false;
  while (!free_slots_.empty() && !has_failed()) {
    auto running = std::make_unique<Running>();
    {
      const std::lock_guard lock(mutex_);
      auto next = queue_.pop();
      if (!next) return has_moved;
      running_ids_.insert(next->id);
      running->pending = std::move(*next);
    }
    running->slot = free_slots_.back();
    free_slots_.pop_back();
    has_moved = true;
    running_.push_back(std::move(running));
    Running& added = *running_.back();
    const Status status = pipeline_->prepare(added.slot, added.pending.request);
    if (!status.is_ok())
      fail(added, status.with_context(fmt::format("model \"{}\"", options_.name)));
  }
  return has_moved;
}

bool ModelScheduler::advance(Running& running) {
  if (running.slot == kNoSlot) return false;
  bool has_moved = false;
  if (running.is_in_stage && !poll_stage(running)) return false;
  if (running.slot == kNoSlot || has_failed()) return true;
  while (running.stage < pipeline_->num_stages()) {
    if (!start_stage(running)) return has_moved;
    has_moved = true;
    if (running.slot == kNoSlot || has_failed() || !poll_stage(running)) return true;
    if (running.slot == kNoSlot || has_failed()) return true;
  }
  complete(running);
  return true;
}

bool ModelScheduler::start_stage(Running& running) {
  const std::size_t lane = pipeline_->lane(running.stage);
  if (is_lane_taken_[lane]) return false;
  is_lane_taken_[lane] = true;
  running.is_in_stage = true;
  running.stage_start_ns = clock_.now_ns();
  if (running.stage == 0) {
    running.times.queue_ns = running.stage_start_ns - running.pending.submitted_ns;
    if (is_profiled()) {
      profile(SpanKind::kQueue, running.pending.id, running.pending.submitted_ns,
              running.stage_start_ns);
    }
  }
  if (num_in_stage_++ == 0) busy_since_ns_ = running.stage_start_ns;
  const Status status = start_pipeline(running);
  if (status.is_ok()) return true;
  leave_stage(running);
  fail(running, classify(status, options_.name));
  return true;
}

void ModelScheduler::leave_stage(Running& running) {
  const std::int64_t now_ns = clock_.now_ns();
  const bool is_compute = pipeline_->kind(running.stage) == StageKind::kCompute;
  (is_compute ? running.times.compute_ns : running.times.copy_ns) +=
      now_ns - running.stage_start_ns;
  running.times.total_ns = now_ns - running.pending.submitted_ns;
  const std::size_t lane = pipeline_->lane(running.stage);
  statistics_->add_lane_busy(lane, now_ns - running.stage_start_ns);
  if (is_profiled()) {
    profile(span_kind(pipeline_->kind(running.stage)), running.pending.id, running.stage_start_ns,
            now_ns, lane);
  }
  is_lane_taken_[lane] = false;
  running.is_in_stage = false;
  if (--num_in_stage_ == 0) statistics_->add_busy(now_ns - busy_since_ns_);
}

/// Whether the stage is done, and with it perhaps the request.
bool ModelScheduler::poll_stage(Running& running) {
  const auto is_done = pipeline_->poll(running.slot, running.stage);
  if (is_done.is_ok() && !*is_done) return false;
  leave_stage(running);
  if (!is_done.is_ok()) {
    fail(running, classify(is_done.status(), options_.name));
  } else if (!running.verdict.is_ok()) {
    fail(running, running.verdict);
  } else {
    ++running.stage;
  }
  return true;
}

void ModelScheduler::complete(Running& running) {
  Reply reply = make_reply(running);
  statistics_->record(running.times);
  running.is_answered = true;
  PendingRequest pending = std::move(running.pending);
  free_slot(running);
  answer(pending, std::move(reply));
  release_one();
}

Reply ModelScheduler::make_reply(Running& running) {
  Reply reply;
  auto outputs = pipeline_->take_outputs(running.slot);
  if (!outputs.is_ok()) {
    const Status status = classify(outputs.status(), options_.name);
    return {runtime_code_of(status), ErrorList(status), {}, {}};
  }
  reply.outputs = std::move(*outputs);
  if (options_.nan_policy != NanPolicy::kPass) {
    for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
      if (!holds_nan(reply.outputs[i].view)) continue;
      const Status status =
          runtime_error(RuntimeCode::kNumericError, "model \"{}\": output \"{}\" holds NaN",
                        options_.name, signature().outputs[i].name);
      reply.code = RuntimeCode::kNumericError;
      reply.errors.add(status);
    }
    const bool keeps = options_.nan_policy == NanPolicy::kFlag;
    if (reply.code != RuntimeCode::kOk && !keeps) reply.outputs.clear();
  }
  if (running.pending.request.wants_detail) {
    reply.detail = options_.where;
    reply.detail.queue_ns = running.times.queue_ns;
    reply.detail.copy_ns = running.times.copy_ns;
    reply.detail.compute_ns = running.times.compute_ns;
  }
  return reply;
}

void ModelScheduler::fail(Running& running, const Status& status) {
  if (runtime_code_of(status) == RuntimeCode::kDeviceError) return fail_all(status);
  const bool was_answered = std::exchange(running.is_answered, true);
  PendingRequest pending = std::move(running.pending);
  free_slot(running);
  if (!was_answered) answer_error(pending, status);
  release_one();
}

/// A lost device reads and writes nothing any more: everybody is answered now.
void ModelScheduler::fail_all(const Status& status) {
  std::vector<PendingRequest> waiting;
  {
    const std::lock_guard lock(mutex_);
    refusal_ =
        runtime_error(RuntimeCode::kModelFailed,
                      "model \"{}\" is out of service since its device failed; reset or reload it",
                      options_.name);
    waiting = queue_.take_all();
  }
  has_failed_.store(true, std::memory_order_release);
  for (PendingRequest& pending : waiting) {
    answer_error(pending, status);
    release_one();
  }
  for (const auto& running : running_) {
    if (running->slot == kNoSlot) continue;
    if (running->is_in_stage) leave_stage(*running);
    pipeline_->abandon(running->slot);
    const bool was_answered = std::exchange(running->is_answered, true);
    PendingRequest pending = std::move(running->pending);
    free_slot(*running);
    if (!was_answered) answer_error(pending, running->verdict.is_ok() ? status : running->verdict);
    release_one();
  }
}

/// Its entry goes with the next sweep.
void ModelScheduler::free_slot(Running& running) {
  free_slots_.push_back(running.slot);
  running.slot = kNoSlot;
}

void ModelScheduler::sweep() {
  std::erase_if(running_, [](const auto& running) { return running->slot == kNoSlot; });
}

}  // namespace sluice::runtime
