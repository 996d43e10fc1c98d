// The part of the scheduler that runs several requests as one, and one in several passes.
//
// The inputs of a joined run are copied before it starts. From then on nobody reads the memory of
// its parts, so that a cancel or a deadline answers a part at once, on any thread, while the run
// goes on: whoever takes a part from `Running::parts` answers it. While the inputs are copied a
// cancel only marks its part.
#include <algorithm>
#include <utility>

#include "base/process/with_lock.h"
#include "runtime/inference/model_scheduler.h"
#include "runtime/pipeline/pipeline.h"

namespace sluice::runtime {

Status ModelScheduler::join(const terms::BatchOptions& options) {
  const auto executable = executable_.lock();
  if (executable == nullptr) {
    return terms::runtime_error(RuntimeCode::kFailed,
                                "model \"{}\" was reset: start it before its requests are joined",
                                options_.name);
  }
  auto rule = std::make_shared<const JoinRule>(
      SLUICE_TRY(join_rule(fmt::format("model \"{}\"", options_.name), *executable, options)));
  const std::lock_guard lock(mutex_);
  if (joining_ != nullptr) {
    const bool is_same =
        joining_->max_rows == rule->max_rows && joining_->max_delay_ns == rule->max_delay_ns;
    if (is_same) return ok_status();
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "model \"{}\" joins up to {} rows after at most {} ns already",
                                options_.name, joining_->max_rows, joining_->max_delay_ns);
  }
  joining_ = std::move(rule);
  batch_rows_.store(joining_->max_rows, std::memory_order_release);
  signature_.store(&joining_->signature, std::memory_order_release);
  return ok_status();
}

/// The first request of the line, and those behind it whose rows still fit. The first one that does
/// not fit ends the run, so that requests keep their order; nothing can be gained by waiting then.
/// Requires: the model joins requests, and mutex_ is held.
ModelScheduler::Run ModelScheduler::next_run(std::int64_t now_ns) const {
  Run run;
  if (line_.empty()) return run;
  const std::int64_t max_rows = joining_->max_rows;
  const Request& first = line_.front()->request;
  line_.visit([&](const PendingRequest& next) {
    const bool fits = !next.is_alone && next.rows > 0 && next.rows <= max_rows - run.num_rows;
    if (run.num_requests > 0 && (!fits || !has_same_rows(first, next.request))) {
      run.is_due = true;
      return false;
    }
    ++run.num_requests;
    run.num_rows += next.rows;
    run.is_due = !fits || run.num_rows == max_rows;
    return !run.is_due;
  });
  run.is_due = run.is_due || join_due_ns() <= now_ns;
  return run;
}

/// When the oldest request has waited for others as long as it may; kNoDeadline if none waits.
/// Requires: mutex_ is held.
std::int64_t ModelScheduler::join_due_ns() const {
  if (!joining_ || line_.empty()) return kNoDeadline;
  const std::int64_t since_ns = line_.oldest()->submitted_ns;
  // A client may ask for any delay.
  return joining_->max_delay_ns > kNoDeadline - since_ns ? kNoDeadline
                                                         : since_ns + joining_->max_delay_ns;
}

/// Fills `running` from the line; false if no run is due. Requires: mutex_ is held.
bool ModelScheduler::take_run(Running& running, std::int64_t now_ns) {
  line_.put_passed_first();
  Run run = {line_.empty() ? 0U : 1U, 0, true};
  if (joining_) run = next_run(now_ns);
  running.rule = joining_;
  if (run.num_requests == 0 || !run.is_due) return false;
  const bool is_filled_up = joining_ && joining_->is_padded && line_.front()->rows > 0 &&
                            run.num_rows < joining_->max_rows;
  if (run.num_requests == 1 && !is_filled_up) {
    running.pending = std::move(*line_.pop());
    running_by_id_.emplace(running.pending.id, &running);
    return true;
  }
  running.is_joined = true;
  num_busy_.fetch_add(1, std::memory_order_acq_rel);
  for (std::size_t i = 0; i < run.num_requests; ++i) {
    PendingRequest next = std::move(*line_.pop());
    running_by_id_.emplace(next.id, &running);
    const std::int64_t rows = next.rows;
    running.parts.push_back({std::move(next), running.num_rows});
    running.num_rows += rows;
  }
  running.pending.id = running.parts.front().pending.id;
  running.pending.submitted_ns = running.parts.front().pending.submitted_ns;
  return true;
}

/// Rows are copied in the host's memory. Only requests that came before `join` left inputs
/// elsewhere.
Status ModelScheduler::fetch_rows(const Running& running) {
  Status status = running.pending.request.fetch_inputs();
  // Without the lock: nobody removes a part before `is_copied`.
  for (const Part& part : running.parts) {
    if (status.is_ok()) status = part.pending.request.fetch_inputs();
  }
  return status;
}

Status ModelScheduler::copy_parts(Running& running) {
  std::vector<const Request*> requests;
  // Without the lock: nobody removes a part before `is_copied`.
  for (const Part& part : running.parts) requests.push_back(&part.pending.request);
  auto joined = joined_request(requests, *running.rule);
  if (joined) {
    running.num_rows = joined->inputs.front().dims.front();
    running.pending.request = std::move(*joined);
  }
  std::vector<PendingRequest> cancelled;
  {
    const std::lock_guard lock(mutex_);
    running.is_copied = true;
    for (std::size_t i = running.parts.size(); i > 0; --i) {
      const Part& part = running.parts[i - 1];
      if (!part.is_cancelled) continue;
      cancelled.push_back(std::move(*take_part(running, part.pending.id)));
    }
  }
  for (PendingRequest& pending : cancelled) {
    answer_error(pending,
                 terms::runtime_error(RuntimeCode::kCancelled,
                                      "model \"{}\": cancelled while waiting", options_.name));
    release_one();
  }
  if (joined) return ok_status();
  return terms::runtime_error(RuntimeCode::kOutOfResources, "no memory to join requests");
}

/// Removes the part `id`, whose inputs nobody reads; marks it, or the only request of the slot, if
/// somebody may. Requires: mutex_ is held.
std::optional<PendingRequest> ModelScheduler::take_part(Running& running, std::uint64_t id) {
  if (!running.is_joined) {
    running.is_cancelled = true;
    return std::nullopt;
  }
  const auto part =
      std::ranges::find_if(running.parts, [id](const Part& one) { return one.pending.id == id; });
  if (part == running.parts.end()) return std::nullopt;
  if (!running.is_copied) {
    part->is_cancelled = true;
    return std::nullopt;
  }
  PendingRequest taken = std::move(part->pending);
  running.parts.erase(part);
  running_by_id_.erase(id);
  running.is_cancelled = running.parts.empty();
  return taken;
}

/// Removes the parts whose deadlines are `deadline_ns` or earlier; kNoDeadline: all.
std::vector<PendingRequest> ModelScheduler::take_parts(Running& running, std::int64_t deadline_ns) {
  std::vector<PendingRequest> taken;
  const std::lock_guard lock(mutex_);
  for (Part& part : running.parts) {
    if (part.pending.request.deadline_ns > deadline_ns) continue;
    running_by_id_.erase(part.pending.id);
    taken.push_back(std::move(part.pending));
  }
  if (taken.empty()) return taken;
  std::erase_if(running.parts, [deadline_ns](const Part& part) {
    return part.pending.request.deadline_ns <= deadline_ns;
  });
  running.is_cancelled = running.parts.empty();
  return taken;
}

bool ModelScheduler::expire_parts(Running& running, std::int64_t now_ns) {
  std::vector<PendingRequest> expired = take_parts(running, now_ns);
  if (!expired.empty()) note_late(expired.front().request, running.start_ns);
  for (PendingRequest& pending : expired) {
    answer_error(pending, terms::runtime_error(RuntimeCode::kTimeout,
                                               "model \"{}\": the deadline passed while running",
                                               options_.name));
    release_one();
  }
  return !expired.empty();
}

void ModelScheduler::complete_joined(Running& running, const Reply& reply) {
  if (reply.code != RuntimeCode::kOk || !has_rows(reply, running.num_rows)) {
    const Status why = reply.errors.to_status();
    return run_alone(running, why.is_ok() ? lacks_rows() : why);
  }
  expire_parts(running, clock_.now_ns());
  std::vector<Part> parts;
  {
    const std::lock_guard lock(mutex_);
    parts = std::exchange(running.parts, {});
    for (const Part& part : parts) running_by_id_.erase(part.pending.id);
  }
  const std::int64_t start_ns = running.pending.submitted_ns;
  const RequestTimes times = running.times;
  std::int64_t counted_rows = record_run(running);
  running.is_answered = true;
  free_slot(running);
  const bool is_joined = std::ssize(parts) > 1;
  if (is_joined) statistics_->count_joined(std::ssize(parts));
  if (!parts.empty()) count_work(running, parts.front().pending.request, std::ssize(parts));
  for (Part& part : parts) {
    RequestTimes own = times;
    own.queue_ns -= part.pending.submitted_ns - start_ns;
    own.total_ns -= part.pending.submitted_ns - start_ns;
    statistics_->record(own);
    Reply answered =
        part_of(reply, part.first_row, part.pending.rows, part.pending.request, signature());
    if (part.pending.request.wants_detail) {
      answered.detail.queue_ns = own.queue_ns;
      answered.detail.submitted_ns = part.pending.submitted_ns;
      answered.detail.is_joined = is_joined;
      answered.detail.num_ahead = part.pending.num_ahead;
      answered.detail.counted_rows = std::exchange(counted_rows, 0);
    }
    apply_nan_policy(answered);
    answer(part.pending, std::move(answered));
    release_one();
  }
  release_one();
}

Status ModelScheduler::lacks_rows() const {
  return terms::runtime_error(RuntimeCode::kCompletedWithError,
                              "model \"{}\": an output has no row for each row of the inputs",
                              options_.name);
}

/// The requests of a joined run that failed wait again, each for a run of its own, which zeros may
/// fill up. The error of such a run is the request's.
void ModelScheduler::run_alone(Running& running, const Status& why) {
  const bool was_alone = with_lock(
      mutex_, [&] { return running.parts.size() == 1 && running.parts.front().pending.is_alone; });
  if (was_alone) return end(running, why);
  {
    const std::lock_guard lock(mutex_);
    for (Part& part : running.parts) {
      running_by_id_.erase(part.pending.id);
      part.pending.is_alone = true;
      line_.push(std::move(part.pending));
    }
    running.parts.clear();
    line_deadline_ns_ = line_.next_deadline_ns();
  }
  running.is_answered = true;
  free_slot(running);
  release_one();
}

/// Whether the request has more rows than a run of a model that was compiled for their number.
bool ModelScheduler::takes_passes(const Running& running) const {
  return running.rule && running.rule->is_padded && running.pending.rows > running.rule->max_rows;
}

Status ModelScheduler::prepare_pass(Running& running) {
  auto pass = rows_from(running.pending.request, running.first_row, *running.rule);
  if (!pass)
    return terms::runtime_error(RuntimeCode::kOutOfResources, "no memory for the last rows");
  running.pass = std::move(*pass);
  return pipeline_->prepare(running.slot, running.pass, checkpoint_of(running));
}

void ModelScheduler::complete_pass(Running& running, const Reply& reply) {
  const std::int64_t rows = running.pending.rows;
  const std::int64_t max_rows = running.rule->max_rows;
  Status status = reply.errors.to_status();
  if (status.is_ok() && !has_rows(reply, max_rows)) {
    status = lacks_rows();
  }
  if (status.is_ok()) {
    status = add_rows(reply, running.first_row, rows, running.pending.request, signature(),
                      running.passed);
  }
  running.first_row += max_rows;
  running.stage = 0;
  if (status.is_ok() && running.first_row < rows) {
    status = prepare_pass(running);
    if (status.is_ok()) return;  // its first stage starts in this step or the next
  }
  if (!status.is_ok()) return fail(running, status);
  count_work(running, running.pending.request, 1);
  statistics_->record(running.times);
  running.passed.detail = reply.detail;
  running.passed.detail.counted_rows = record_run(running);
  apply_nan_policy(running.passed);
  running.is_answered = true;
  PendingRequest pending = std::move(running.pending);
  Reply whole = std::move(running.passed);
  free_slot(running);
  answer(pending, std::move(whole));
  release_one();
}

}  // namespace sluice::runtime
