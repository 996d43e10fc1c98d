// Captures and graphs.

#include "emulator/entries/entries.h"
#include "emulator/machine/capture.h"

namespace sluice::cuda::emulator {
namespace {

CuResult stream_begin_capture(CuStream handle, CuCaptureMode mode) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto stream = find_stream(machine, context, handle);
    return stream != nullptr ? begin_capture(machine, stream, mode) : CuResult::kInvalidHandle;
  });
}

CuResult stream_end_capture(CuStream handle, CuGraph* graph) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto stream = find_stream(machine, context, handle);
    return stream != nullptr ? end_capture(machine, stream, graph) : CuResult::kInvalidHandle;
  });
}

CuResult stream_is_capturing(CuStream handle, CuCaptureStatus* status) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto stream = find_stream(machine, context, handle);
    if (stream == nullptr) return CuResult::kInvalidHandle;
    const auto& capture = stream->capture;
    *status = capture == nullptr    ? CuCaptureStatus::kNone
              : capture->is_invalid ? CuCaptureStatus::kInvalidated
                                    : CuCaptureStatus::kActive;
    return CuResult::kSuccess;
  });
}

CuResult thread_exchange_stream_capture_mode(CuCaptureMode* mode) {
  if (*mode < CuCaptureMode::kGlobal || *mode > CuCaptureMode::kRelaxed) {
    return CuResult::kInvalidValue;
  }
  *mode = exchange_capture_mode(*mode);
  return CuResult::kSuccess;
}

CuResult graph_instantiate_with_flags(CuGraphExec* exec, CuGraph handle, unsigned long long flags) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto graph = machine.graphs.find(handle);
    if (graph == nullptr) return CuResult::kInvalidHandle;
    if (flags != 0) {
      return explain(CuResult::kNotSupported, "the emulator instantiates graphs without flags");
    }
    auto made = std::make_shared<GraphExec>();
    made->graph = graph;  // a graph of a capture never changes
    *exec = machine.graph_execs.add(std::move(made));
    return CuResult::kSuccess;
  });
}

CuResult graph_launch(CuGraphExec handle, CuStream stream_handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto exec = machine.graph_execs.find(handle);
    const auto stream = find_stream(machine, context, stream_handle);
    if (exec == nullptr || stream == nullptr) return CuResult::kInvalidHandle;
    if (stream->capture != nullptr) {
      return explain(CuResult::kNotSupported, "the emulator has no graphs within graphs");
    }
    Work work;
    work.graph = std::make_shared<GraphRun>();
    work.graph->graph = exec->graph;
    work.graph->states.resize(exec->graph->nodes.size(), GraphRun::State::kWaiting);
    work.waits_for = std::exchange(exec->last, work.completes);
    return submit(machine, stream, std::move(work));
  });
}

CuResult graph_destroy(CuGraph handle) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    return machine.graphs.remove(handle) != nullptr ? CuResult::kSuccess : CuResult::kInvalidHandle;
  });
}

CuResult graph_exec_destroy(CuGraphExec handle) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    return machine.graph_execs.remove(handle) != nullptr ? CuResult::kSuccess
                                                         : CuResult::kInvalidHandle;
  });
}

}  // namespace

void fill_graph_entries(DriverTable& table) {
  table.stream_begin_capture = stream_begin_capture;
  table.stream_end_capture = stream_end_capture;
  table.stream_is_capturing = stream_is_capturing;
  table.thread_exchange_stream_capture_mode = thread_exchange_stream_capture_mode;
  table.graph_instantiate_with_flags = graph_instantiate_with_flags;
  table.graph_launch = graph_launch;
  table.graph_destroy = graph_destroy;
  table.graph_exec_destroy = graph_exec_destroy;
}

}  // namespace sluice::cuda::emulator
