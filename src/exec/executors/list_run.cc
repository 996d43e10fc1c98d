#include "exec/executors/list_run.h"

#include "base/clock.h"

namespace sluice::exec {

Status Submission::submit(const ListRun& run, std::size_t index) {
  const TaskList& task = run.tasks[index];
  backend::Stream& stream = *run.streams[task.group];
  // A run without a trace reads no clock.
  if (run.trace == nullptr) return stream.submit(task.list, run.bindings);
  const backend::Backend& backend = task.placed->backend();
  time_ = {task.name, backend.name(), task.placed->device(), task.group, 0, 0, {}};
  const backend::StepObserver observer(backend, time_.steps);
  time_.start_ns = system_clock().now_ns();
  return stream.submit(task.list, run.bindings);
}

void Submission::end(const ListRun& run) {
  if (run.trace == nullptr) return;
  time_.end_ns = system_clock().now_ns();
  run.trace->add(std::move(time_));
}

}  // namespace sluice::exec
