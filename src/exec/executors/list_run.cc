#include "exec/executors/list_run.h"

#include "base/clock.h"

namespace sluice::exec {

Status submit_watched(const TaskList& task, device::PooledStream& stream,
                      std::span<void* const> bindings, const std::function<Status()>* checkpoint) {
  if (task.stop == nullptr || checkpoint == nullptr || !*checkpoint)
    return stream->submit(task.list, bindings);
  const backend::StopWatch watch(task.placed->backend(), task.stop, *checkpoint);
  SLUICE_TRY(stream->submit(task.list, bindings));
  if (watch.reason().is_ok()) return ok_status();
  // The plug-in's own error says less; the next run finds the stream without it.
  static_cast<void>(stream->wait());
  return watch.reason();
}

Status Submission::submit(const ListRun& run, std::size_t index) {
  const TaskList& task = run.tasks[index];
  device::PooledStream& stream = run.streams[task.group];
  // A run without a trace reads no clock.
  if (run.trace == nullptr) return submit_watched(task, stream, run.bindings, run.checkpoint);
  const backend::Backend& backend = task.placed->backend();
  time_ = {task.name, backend.name(), task.placed->device(), task.group, 0, 0, {}};
  const backend::StepObserver observer(backend, time_.steps);
  time_.start_ns = system_clock().now_ns();
  return submit_watched(task, stream, run.bindings, run.checkpoint);
}

void Submission::end(const ListRun& run) {
  if (run.trace == nullptr) return;
  time_.end_ns = system_clock().now_ns();
  run.trace->add(std::move(time_));
}

}  // namespace sluice::exec
