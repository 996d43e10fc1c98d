// The part of the scheduler that starts, polls and ends stages. Called in a step.
#include <algorithm>

#include "runtime/inference/model_scheduler.h"
#include "runtime/pipeline/pipeline.h"

namespace sluice::runtime {
namespace {

/// Shorter stages run in the step: a switch to the lane's thread and back takes some 10 us.
constexpr std::int64_t kWorthAThreadNs = 50'000;

}  // namespace

/// A model with one compute lane needs no thread beside the stepping one.
void ModelScheduler::open_lanes() {
  lanes_ = std::vector<Lane>(pipeline_->num_lanes());
  if (driver_ == nullptr || !driver_->has_threads()) return;
  std::vector<bool> computes(lanes_.size(), false);
  for (std::size_t stage = 0; stage < pipeline_->num_stages(); ++stage) {
    if (pipeline_->kind(stage) == terms::StageKind::kCompute)
      computes[pipeline_->lane(stage)] = true;
  }
  if (std::ranges::count(computes, true) < 2) return;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (!computes[lane]) continue;
    lanes_[lane].last_ns = kWorthAThreadNs;
    const auto assist = [this, lane] {
      driver_->assist([this, lane] { return lanes_[lane].thread->has_job(); });
    };
    lanes_[lane].thread = std::make_unique<LaneThread>(options_.cpus[lane], assist);
  }
}

bool ModelScheduler::start_stage(Running& running) {
  Lane& lane = lanes_[pipeline_->lane(running.stage)];
  if (lane.is_taken) return false;
  lane.is_taken = true;
  running.is_in_stage = true;
  running.stage_start_ns = clock_.now_ns();
  if (running.stage == 0 && running.first_row == 0) {
    running.times.queue_ns = running.stage_start_ns - running.pending.submitted_ns;
    const std::int64_t limit_ns = max_run_ns(running);
    if (limit_ns != 0) running.ends_ns = deadline_after(clock_, limit_ns);
    if (is_profiled()) {
      profile(terms::SpanKind::kQueue, running.pending.id, running.pending.submitted_ns,
              running.stage_start_ns);
    }
  }
  stage_due_ns_ = std::min(stage_due_ns_.load(std::memory_order_relaxed), end_due_ns(running));
  if (running.is_cancelled) note_stop();  // by a cancel whose note the line above overwrote
  if (num_in_stage_++ == 0) busy_since_ns_ = running.stage_start_ns;
  if (lane.thread != nullptr && lane.last_ns >= kWorthAThreadNs) {
    running.is_on_thread = true;
    lane.thread->start([this, &running] { return run_on_thread(running); });
    return true;
  }
  const Status status = start_pipeline(running);
  if (!status.is_ok()) fail_stage(running, status, clock_.now_ns());
  return true;
}

/// On the lane's thread, which has the slot and the times of the stage until the job is done.
Status ModelScheduler::run_on_thread(Running& running) {
  running.stage_start_ns = clock_.now_ns();
  Status status = start_pipeline(running);
  running.stage_end_ns = clock_.now_ns();
  return status;
}

void ModelScheduler::leave_stage(Running& running, std::int64_t end_ns) {
  const std::int64_t duration_ns = end_ns - running.stage_start_ns;
  const terms::StageKind kind = pipeline_->kind(running.stage);
  (kind == terms::StageKind::kCompute ? running.times.compute_ns : running.times.copy_ns) +=
      duration_ns;
  running.times.has_copies |= kind != terms::StageKind::kCompute;
  if (kind == terms::StageKind::kCopyOut) running.times.copy_out_ns += duration_ns;
  running.times.total_ns = end_ns - running.pending.submitted_ns;
  const std::size_t lane = pipeline_->lane(running.stage);
  statistics_->add_lane_busy(lane, duration_ns);
  if (running.pending.request.wants_detail) note_stage(running, duration_ns);
  if (is_profiled()) {
    profile(terms::span_kind(kind), running.pending.id, running.stage_start_ns, end_ns, lane);
  }
  lanes_[lane].is_taken = false;
  lanes_[lane].last_ns = duration_ns;
  longest_stage_ns_ = std::max(longest_stage_ns_, duration_ns);
  running.is_in_stage = false;
  if (--num_in_stage_ == 0) statistics_->add_busy(end_ns - busy_since_ns_);
}

void ModelScheduler::note_stage(Running& running, std::int64_t duration_ns) const {
  const terms::StageKind kind = pipeline_->kind(running.stage);
  const bool is_compute = kind == terms::StageKind::kCompute;
  const std::size_t segment = is_compute ? pipeline_->segment(running.stage) : 0;
  running.stages.push_back(
      {kind, static_cast<std::uint32_t>(segment), running.stage_start_ns, duration_ns});
}

/// Whether the stage has ended. An error, or a verdict, ends the request too.
bool ModelScheduler::poll_stage(Running& running) {
  const bool was_on_thread = running.is_on_thread;
  if (was_on_thread) {
    LaneThread& thread = *lanes_[pipeline_->lane(running.stage)].thread;
    if (!thread.is_done()) return false;
    running.is_on_thread = false;
    const Status status = thread.take();
    if (!status.is_ok()) return fail_stage(running, status, running.stage_end_ns), true;
  }
  const auto is_done = pipeline_->poll(running.slot, running.stage);
  if (is_done.is_ok() && !*is_done) return false;
  const std::int64_t end_ns = was_on_thread ? running.stage_end_ns : clock_.now_ns();
  if (!is_done.is_ok()) {
    fail_stage(running, is_done.status(), end_ns);
    return true;
  }
  leave_stage(running, end_ns);
  if (running.verdict.is_ok()) {
    ++running.stage;
  } else {
    fail(running, running.verdict);
  }
  return true;
}

void ModelScheduler::fail_stage(Running& running, const Status& status, std::int64_t end_ns) {
  leave_stage(running, end_ns);
  fail(running, classify(status));
}

/// For a lost device. A lane's thread still reads and writes the request's memory, so this waits.
void ModelScheduler::abandon_stage(Running& running) {
  if (running.is_on_thread) {
    LaneThread& thread = *lanes_[pipeline_->lane(running.stage)].thread;
    thread.wait();
    static_cast<void>(thread.take());
    running.is_on_thread = false;
  }
  if (running.is_in_stage) leave_stage(running, clock_.now_ns());
  pipeline_->abandon(running.slot);
}

}  // namespace sluice::runtime
