// Streams, and host functions in them.

#include "emulator/entries/entries.h"
#include "emulator/machine/capture.h"

namespace sluice::cuda::emulator {
namespace {

CuResult stream_create_with_priority(CuStream* handle, unsigned flags, int /*priority*/) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    if ((flags & ~kStreamNonBlocking) != 0) return CuResult::kInvalidValue;
    auto stream = std::make_shared<Stream>();
    stream->context = &context;
    stream->is_blocking = (flags & kStreamNonBlocking) == 0;
    *handle = machine.streams.add(std::move(stream));
    return CuResult::kSuccess;
  });
}

/// Work that was submitted still runs.
CuResult stream_destroy(CuStream handle) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto stream = machine.streams.find(handle);
    if (stream == nullptr) return CuResult::kInvalidHandle;
    if (stream->capture != nullptr) return forbid_in_capture(*stream->capture, "cuStreamDestroy");
    machine.streams.remove(handle);
    return CuResult::kSuccess;
  });
}

CuResult stream_synchronize(CuStream handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock& lock) {
    const auto stream = find_stream(machine, context, handle);
    if (stream == nullptr) return CuResult::kInvalidHandle;
    if (stream->capture != nullptr) {
      return forbid_in_capture(*stream->capture, "cuStreamSynchronize");
    }
    if (stream->work.empty()) {
      return wait_until(machine, *stream->context->device, lock, [] { return true; });
    }
    const auto last = stream->work.back().completes;
    return wait_until(machine, *stream->context->device, lock, [&] { return last->is_reached; });
  });
}

/// Lets one piece of work run, so that a program that asks in a loop gets on.
CuResult stream_query(CuStream handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock& lock) {
    const auto stream = find_stream(machine, context, handle);
    if (stream == nullptr) return CuResult::kInvalidHandle;
    if (stream->capture != nullptr) return forbid_in_capture(*stream->capture, "cuStreamQuery");
    if (!stream->work.empty()) machine.scheduler.step(lock);
    if (!stream->context->device->error.is_none()) return explain(stream->context->device->error);
    return stream->work.empty() ? CuResult::kSuccess : CuResult::kNotReady;
  });
}

CuResult wait_outside_of_captures(Machine& machine, const std::shared_ptr<Stream>& stream,
                                  const Event& event) {
  if (stream->capture != nullptr) {
    stream->capture->is_invalid = true;
    return explain(CuResult::kCaptureIsolation,
                   "a captured stream waits for an event that was recorded outside of the capture");
  }
  if (event.last == nullptr || event.last->is_reached) return CuResult::kSuccess;
  return submit(machine, stream, {.waits_for = event.last});
}

CuResult stream_wait_event(CuStream stream_handle, CuEvent event_handle, unsigned flags) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto stream = find_stream(machine, context, stream_handle);
    const auto event = machine.events.find(event_handle);
    if (stream == nullptr || event == nullptr) return CuResult::kInvalidHandle;
    if (flags != 0) return CuResult::kInvalidValue;
    if (event->capture != nullptr && !event->capture->members.empty()) {
      return wait_captured(stream, *event);
    }
    return wait_outside_of_captures(machine, stream, *event);
  });
}

CuResult launch_host_func(CuStream handle, CuHostFunction function, void* user_data) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto stream = find_stream(machine, context, handle);
    if (stream == nullptr) return CuResult::kInvalidHandle;
    if (function == nullptr) return CuResult::kInvalidValue;
    const Operation run = [function, user_data]() -> Fault {
      thread_state().is_in_host_function = true;
      function(user_data);
      thread_state().is_in_host_function = false;
      return {};
    };
    return submit(machine, stream, {.run = run});
  });
}

}  // namespace

void fill_stream_entries(DriverTable& table) {
  table.stream_create_with_priority = stream_create_with_priority;
  table.stream_destroy = stream_destroy;
  table.stream_synchronize = stream_synchronize;
  table.stream_query = stream_query;
  table.stream_wait_event = stream_wait_event;
  table.launch_host_func = launch_host_func;
}

}  // namespace sluice::cuda::emulator
