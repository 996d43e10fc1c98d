// The part of the scheduler that the driver runs, one thread at a time.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/process/with_lock.h"
#include "runtime/inference/model_scheduler.h"
#include "runtime/pipeline/pipeline.h"

namespace sluice::runtime {

/// An error of a run, with its runtime code and the model's name.
Status ModelScheduler::classify(const Status& status) const {
  const std::string message = fmt::format("model \"{}\": {}", options_.name, status.message());
  if (status.detail() != 0) return Status(status.code(), status.detail(), message);
  return terms::runtime_error(terms::run_code_of(status), "{}", message);
}

StepResult ModelScheduler::step(std::int64_t now_ns, bool may_start) {
  longest_stage_ns_ = 0;
  bool has_moved = obey_doom();
  has_moved |= drop_expired(now_ns);
  has_moved |= drop_running(now_ns);
  // One round, although more could move now: the line may never be empty, and between steps the
  // driver looks at deadlines and lets a caller go whose reply is there.
  if (may_start) has_moved |= fill_slots(now_ns);
  // A callback of a reply may submit, which touches line_ but not running_.
  for (std::size_t i = 0; i < running_.size() && !has_failed(); ++i) {
    has_moved |= advance(*running_[i]);
  }
  sweep();
  std::int64_t due_ns = kNoDeadline;
  for (const auto& running : running_) {
    if (running->is_in_stage) due_ns = std::min(due_ns, end_due_ns(*running));
  }
  stage_due_ns_.store(due_ns, std::memory_order_relaxed);
  return result(has_moved, now_ns);
}

StepResult ModelScheduler::result(bool has_moved, std::int64_t now_ns) {
  StepResult result = {has_moved, false, kNoDeadline, longest_stage_ns_};
  for (const auto& running : running_) {
    // A lane's thread assists at its end; until then there is nothing to poll.
    result.is_running |= running->is_in_stage && !running->is_on_thread;
    if (running->is_answered || !running->verdict.is_ok()) continue;
    result.next_deadline_ns = std::min(result.next_deadline_ns, running->ends_ns);
    if (running->is_joined) continue;
    result.next_deadline_ns =
        std::min(result.next_deadline_ns, running->pending.request.deadline_ns);
  }
  const std::lock_guard lock(mutex_);
  for (const auto& running : running_) {
    for (const Part& part : running->parts) {
      result.next_deadline_ns = std::min(result.next_deadline_ns, part.pending.request.deadline_ns);
    }
  }
  result.next_deadline_ns = std::min(result.next_deadline_ns, line_.next_deadline_ns());
  // A run that is due waits for a slot or the model's turn, and a step follows these anyway.
  const std::int64_t due_ns = join_due_ns();
  if (due_ns > now_ns) result.next_deadline_ns = std::min(result.next_deadline_ns, due_ns);
  return result;
}

bool ModelScheduler::obey_doom() {
  const Status doom = with_lock(mutex_, [&] { return std::exchange(doom_, {}); });
  if (doom.is_ok()) return false;
  fail_all(doom);
  sweep();
  return true;
}

/// A long run calls it too, for the requests behind.
bool ModelScheduler::drop_expired(std::int64_t now_ns) {
  if (line_deadline_ns_.load(std::memory_order_relaxed) > now_ns) return false;
  std::vector<PendingRequest> expired;
  {
    const std::lock_guard lock(mutex_);
    expired = line_.take_expired(now_ns);
    line_deadline_ns_ = line_.next_deadline_ns();
  }
  for (PendingRequest& pending : expired) {
    answer_error(pending,
                 terms::runtime_error(RuntimeCode::kTimeout,
                                      "model \"{}\": the deadline passed while waiting for a slot",
                                      options_.name));
    release_one();
  }
  return !expired.empty();
}

bool ModelScheduler::drop_running(std::int64_t now_ns) {
  bool has_moved = false;
  for (const auto& running : running_) {
    if (running->is_answered || !running->verdict.is_ok()) continue;
    if (running->is_joined) has_moved |= expire_parts(*running, now_ns);
    const Status why = reason_to_end(*running, now_ns);
    if (why.is_ok()) continue;
    drop(*running, why.with_context(fmt::format("model \"{}\"", options_.name)));
    has_moved = true;
  }
  sweep();
  return has_moved;
}

/// The shorter limit of the model and of the client; 0: none.
std::int64_t ModelScheduler::max_run_ns(const Running& running) const {
  const std::int64_t own_ns = running.pending.request.max_run_ns;
  if (own_ns == 0 || options_.max_run_ns == 0) return std::max(own_ns, options_.max_run_ns);
  return std::min(own_ns, options_.max_run_ns);
}

Status ModelScheduler::too_long(const Running& running) const {
  constexpr double kNsPerSecond = 1e9;
  const std::int64_t limit_ns = max_run_ns(running);
  const std::string_view whose =
      limit_ns == options_.max_run_ns
          ? "the limit of this model's runs; load it with a larger max_run, or raise "
            "max_run_seconds of the daemon"
          : "the limit of this client's runs; raise max_run in the daemon's roles";
  return terms::runtime_error(RuntimeCode::kTimeout, "the run was stopped after {:g} s, {}",
                              static_cast<double>(limit_ns) / kNsPerSecond, whose);
}

/// Not ok for a request that was cancelled or is late, and for a run that takes too long. Also
/// called by the thread that runs it, from inside the run: a model with loops has one stage, which
/// may never end by itself.
Status ModelScheduler::reason_to_end(const Running& running, std::int64_t now_ns) const {
  if (running.is_cancelled.load(std::memory_order_relaxed)) {
    return terms::runtime_error(RuntimeCode::kCancelled, "cancelled while running");
  }
  if (running.ends_ns <= now_ns) return too_long(running);
  if (running.is_joined) return ok_status();  // its parts have deadlines of their own
  if (running.pending.request.deadline_ns <= now_ns) {
    return terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed while running");
  }
  return ok_status();
}

/// When the stage that runs, or is to run, has to end. By the stepping thread.
std::int64_t ModelScheduler::end_due_ns(Running& running) const {
  if (running.stopped_ns == kNoDeadline && running.is_cancelled.load(std::memory_order_relaxed)) {
    running.stopped_ns = clock_.now_ns();
  }
  const std::int64_t due_ns = std::min(running.ends_ns, running.stopped_ns);
  return running.is_joined ? due_ns : std::min(due_ns, running.pending.request.deadline_ns);
}

/// A stage that runs is to end now.
void ModelScheduler::note_stop() {
  const std::int64_t now_ns = clock_.now_ns();
  std::int64_t due_ns = stage_due_ns_.load(std::memory_order_relaxed);
  while (due_ns > now_ns && !stage_due_ns_.compare_exchange_weak(due_ns, now_ns)) {
  }
}

std::int64_t ModelScheduler::overdue_ns() const {
  const std::int64_t due_ns = stage_due_ns_.load(std::memory_order_relaxed);
  return due_ns == kNoDeadline ? 0 : std::max<std::int64_t>(clock_.now_ns() - due_ns, 0);
}

/// Answers now if the request owns its memory. Otherwise the running stage still uses the caller's
/// memory, and poll_stage answers with the verdict after the stage.
void ModelScheduler::drop(Running& running, const Status& why) {
  running.verdict = why;
  if (terms::runtime_code_of(why) == RuntimeCode::kTimeout) {
    note_late(running.pending.request, running.start_ns);
  }
  const bool may_answer = !running.is_in_stage || running.pending.request.memory_owner != nullptr;
  if (may_answer && !running.is_joined) {
    running.is_answered = true;
    answer_error(running.pending, why);
  }
  if (running.is_in_stage) return;
  if (running.is_joined) return run_alone(running, why);
  free_slot(running);
  release_one();
}

std::function<Status()> ModelScheduler::checkpoint_of(Running& running) {
  return [this, &running] {
    const std::int64_t now_ns = clock_.now_ns();
    drop_expired(now_ns);
    if (running.is_joined) expire_parts(running, now_ns);
    return reason_to_end(running, now_ns);
  };
}

/// Answers waiting requests that have too little time left.
bool ModelScheduler::drop_late(std::int64_t now_ns) {
  if (line_deadline_ns_.load(std::memory_order_relaxed) == kNoDeadline) return false;
  std::vector<std::pair<PendingRequest, Status>> late;
  {
    const std::lock_guard lock(mutex_);
    const auto request_of = [](const PendingRequest& pending) -> const Request& {
      return pending.request;
    };
    for (PendingRequest& pending : take_late(line_, forecast_, now_ns, request_of)) {
      const Status why = forecast_.too_late(fmt::format("model \"{}\"", options_.name),
                                            pending.request, 0, now_ns);
      late.emplace_back(std::move(pending), why);
    }
  }
  for (auto& [pending, why] : late) {
    answer_error(pending, why);
    release_one();
  }
  return !late.empty();
}

bool ModelScheduler::fill_slots(std::int64_t now_ns) {
  bool has_moved = !free_slots_.empty() && drop_late(now_ns);
  while (!free_slots_.empty() && !has_failed()) {
    auto running = std::make_unique<Running>();
    {
      const std::lock_guard lock(mutex_);
      if (!take_run(*running, now_ns)) return has_moved;
    }
    running->start_ns = clock_.now_ns();
    running->slot = free_slots_.back();
    free_slots_.pop_back();
    has_moved = true;
    running_.push_back(std::move(running));
    Running& added = *running_.back();
    const Status status = prepare(added);
    if (!status.is_ok()) fail(added, classify(status));
  }
  return has_moved;
}

Status ModelScheduler::prepare(Running& running) {
  if (running.is_joined || takes_passes(running)) SLUICE_TRY(fetch_rows(running));
  if (running.is_joined) SLUICE_TRY(copy_parts(running));
  if (takes_passes(running)) return prepare_pass(running);
  return pipeline_->prepare(running.slot, running.pending.request, checkpoint_of(running));
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

void ModelScheduler::complete(Running& running) {
  note_recorded_bytes(running.slot);
  Reply reply = make_reply(running);
  if (running.is_joined) return complete_joined(running, reply);
  if (takes_passes(running)) return complete_pass(running, reply);
  apply_nan_policy(reply);
  count_work(running, running.pending.request, 1);
  statistics_->record(running.times);
  reply.detail.counted_rows = record_run(running);
  running.is_answered = true;
  PendingRequest pending = std::move(running.pending);
  // Before the answer, so that a callback that submits finds the slot free; release_one comes last,
  // because an idle model may be unloaded.
  free_slot(running);
  answer(pending, std::move(reply));
  release_one();
}

/// A run of `num_requests` ended; `request` is one of them.
void ModelScheduler::count_work(const Running& running, const Request& request,
                                std::int64_t num_requests) {
  work_.num_requests += num_requests;
  work_.compute_ns += running.times.compute_ns;
  const std::int64_t now_ns = clock_.now_ns();
  const std::lock_guard lock(mutex_);
  forecast_.complete(now_ns, num_requests);
  forecast_.note_run(Forecast::class_of(request), running.start_ns, now_ns);
}

/// Returns the rows of the run, or of each of its passes.
std::int64_t ModelScheduler::record_run(const Running& running) {
  std::int64_t rows = running.is_joined ? running.num_rows : 1;
  std::int64_t num_passes = 1;
  if (takes_passes(running)) {
    rows = running.rule->max_rows;
    num_passes = running.first_row / rows;
  } else if (!running.is_joined && running.rule && running.pending.rows > 0) {
    rows = running.pending.rows;
  }
  statistics_->record_run(rows, num_passes, running.times, clock_.now_ns());
  return rows;
}

void ModelScheduler::note_late(const Request& request, std::int64_t start_ns) {
  const std::int64_t now_ns = clock_.now_ns();
  const std::lock_guard lock(mutex_);
  forecast_.note_stopped(Forecast::class_of(request), start_ns, now_ns);
}

void ModelScheduler::note_recorded_bytes(std::size_t slot) {
  recorded_bytes_.resize(pipeline_->num_slots());
  recorded_bytes_[slot] = pipeline_->recorded_bytes(slot);
  statistics_->set_recorded_bytes(
      std::accumulate(recorded_bytes_.begin(), recorded_bytes_.end(), std::int64_t{0}));
}

Reply ModelScheduler::make_reply(Running& running) {
  Reply reply;
  auto outputs = pipeline_->take_outputs(running.slot);
  if (!outputs.is_ok()) {
    const Status status = classify(outputs.status());
    return failed_reply(status);
  }
  reply.outputs = std::move(*outputs);
  if (running.pending.request.wants_detail) {
    reply.detail = options_.where;
    reply.detail.queue_ns = running.times.queue_ns;
    reply.detail.copy_ns = running.times.copy_ns;
    reply.detail.copy_out_ns = running.times.copy_out_ns;
    reply.detail.compute_ns = running.times.compute_ns;
    reply.detail.recorded_bytes = statistics_->recorded_bytes();
    reply.detail.submitted_ns = running.pending.submitted_ns;
    reply.detail.num_ahead = running.pending.num_ahead;
    reply.detail.stages = running.stages;
  }
  return reply;
}

void ModelScheduler::apply_nan_policy(Reply& reply) const {
  if (options_.nan_policy == terms::NanPolicy::kPass) return;
  for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
    if (!holds_nan(reply.outputs[i].view)) continue;
    const Status status =
        terms::runtime_error(RuntimeCode::kNumericError, "model \"{}\": output \"{}\" holds NaN",
                             options_.name, signature().outputs[i].name);
    reply.code = RuntimeCode::kNumericError;
    reply.errors.add(status);
  }
  const bool keeps = options_.nan_policy == terms::NanPolicy::kFlag;
  if (reply.code != RuntimeCode::kOk && !keeps) reply.outputs.clear();
}

void ModelScheduler::fail(Running& running, const Status& status) {
  if (terms::runtime_code_of(status) == RuntimeCode::kDeviceError) return fail_all(status);
  // One request of several may be the cause.
  if (running.is_joined) return run_alone(running, status);
  end(running, status);
}

/// Answers the requests of the slot that have no answer yet, and frees it.
void ModelScheduler::end(Running& running, const Status& status) {
  const bool was_answered = std::exchange(running.is_answered, true);
  std::vector<PendingRequest> parts = take_parts(running, kNoDeadline);
  const bool is_joined = running.is_joined;
  PendingRequest pending = std::move(running.pending);
  free_slot(running);
  for (PendingRequest& part : parts) {
    answer_error(part, status);
    release_one();
  }
  if (!was_answered && !is_joined) answer_error(pending, status);
  release_one();
}

/// Answers every request now: a lost device no longer accesses their memory.
void ModelScheduler::fail_all(const Status& status) {
  std::vector<PendingRequest> waiting;
  {
    const std::lock_guard lock(mutex_);
    refusal_ = terms::runtime_error(
        RuntimeCode::kModelFailed,
        "model \"{}\" is out of service since its device failed; reset or reload it",
        options_.name);
    waiting = line_.take_all();
  }
  // After refusal_ is set: no request enters between the two.
  has_failed_.store(true, std::memory_order_release);
  for (PendingRequest& pending : waiting) {
    answer_error(pending, status);
    release_one();
  }
  for (const auto& running : running_) {
    if (running->slot == kNoSlot) continue;
    abandon_stage(*running);
    end(*running, running->verdict.is_ok() ? status : running->verdict);
  }
}

/// The entry stays in running_ until `sweep`, because `step` iterates over running_ by index.
void ModelScheduler::free_slot(Running& running) {
  free_slots_.push_back(running.slot);
  running.slot = kNoSlot;
}

void ModelScheduler::sweep() {
  std::erase_if(running_, [](const auto& running) { return running->slot == kNoSlot; });
}

}  // namespace sluice::runtime
