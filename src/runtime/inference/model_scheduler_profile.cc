// The spans that the scheduler reports to a profiler.
#include "backend/extensions/step_observer.h"
#include "runtime/inference/model_scheduler.h"
#include "runtime/pipeline/pipeline.h"

namespace sluice::runtime {

using backend::StepObserver;
using backend::StepTime;

namespace {

std::string name_of(const StepTime& step) {
  return step.name.empty() ? step.kind : fmt::format("{} {}", step.kind, step.name);
}

}  // namespace

void ModelScheduler::profile(terms::SpanKind kind, std::uint64_t id, std::int64_t start_ns,
                             std::int64_t end_ns, std::size_t lane, RuntimeCode code) {
  const EndedSpan span = {kind,       static_cast<std::uint32_t>(lane), id, start_ns, end_ns, code,
                          /*name=*/{}};
  options_.profiler->add(options_.profiled, {&span, 1});
}

Status ModelScheduler::start_pipeline(const Running& running) {
  const bool is_compute = pipeline_->kind(running.stage) == terms::StageKind::kCompute;
  if (is_compute && is_profiled()) return start_observed(running);
  return pipeline_->start(running.slot, running.stage);
}

/// Backends that run a segment on this thread may report the duration of each operation. A profile
/// has no operations of other backends, nor if the engine's clock is not the machine's clock.
Status ModelScheduler::start_observed(const Running& running) {
  const exec::LoadedModel& model = pipeline_->model();
  std::vector<StepTime> steps;
  Status status;
  {
    const StepObserver observer(model.group_of(pipeline_->segment(running.stage))->backend(),
                                steps);
    status = pipeline_->start(running.slot, running.stage);
  }
  const std::int64_t now_ns = clock_.now_ns();
  const auto lane = static_cast<std::uint32_t>(pipeline_->lane(running.stage));
  std::vector<std::string> names;  // complete before views point into it
  for (const StepTime& step : steps) names.push_back(name_of(step));
  std::vector<EndedSpan> spans;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::int64_t end_ns = steps[i].start_ns + steps[i].duration_ns;
    if (steps[i].start_ns < running.stage_start_ns || end_ns > now_ns) continue;
    spans.push_back({terms::SpanKind::kOperation, lane, running.pending.id, steps[i].start_ns,
                     end_ns, RuntimeCode::kOk, names[i]});
  }
  options_.profiler->add(options_.profiled, spans);
  return status;
}

}  // namespace sluice::runtime
