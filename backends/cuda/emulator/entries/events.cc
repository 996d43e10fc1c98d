// Events. Their times are of an emulated clock that counts work (Scheduler::now_ns).

#include "emulator/entries/entries.h"
#include "emulator/machine/capture.h"

namespace sluice::cuda::emulator {
namespace {

CuResult event_create(CuEvent* handle, unsigned flags) {
  return call_in_context([&](Machine& machine, Context&, Scheduler::Lock&) {
    if ((flags & ~(kEventBlockingSync | kEventDisableTiming)) != 0) return CuResult::kInvalidValue;
    auto event = std::make_shared<Event>();
    event->has_time = (flags & kEventDisableTiming) == 0;
    *handle = machine.events.add(std::move(event));
    return CuResult::kSuccess;
  });
}

CuResult event_destroy(CuEvent handle) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    return machine.events.remove(handle) != nullptr ? CuResult::kSuccess : CuResult::kInvalidHandle;
  });
}

CuResult event_record(CuEvent event_handle, CuStream stream_handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto event = machine.events.find(event_handle);
    const auto stream = find_stream(machine, context, stream_handle);
    if (event == nullptr || stream == nullptr) return CuResult::kInvalidHandle;
    event->capture = stream->capture;
    event->nodes = stream->last_nodes;
    if (stream->capture != nullptr) return CuResult::kSuccess;
    Work work;
    event->last = work.completes;
    return submit(machine, stream, std::move(work));
  });
}

/// Runs `body` with the event, unless it is of a capture.
template <typename Body>
CuResult with_event(CuEvent handle, const Body& body) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock& lock) {
    const auto event = machine.events.find(handle);
    if (event == nullptr) return CuResult::kInvalidHandle;
    if (event->capture != nullptr) {
      event->capture->is_invalid = true;
      return CuResult::kCapturedEvent;
    }
    return body(machine, context, *event, lock);
  });
}

CuResult event_query(CuEvent handle) {
  return with_event(
      handle, [](Machine& machine, Context& context, const Event& event, Scheduler::Lock& lock) {
        const auto last = event.last;
        if (last != nullptr && !last->is_reached) machine.scheduler.step(lock);
        if (!context.device->error.is_none()) return explain(context.device->error);
        return last == nullptr || last->is_reached ? CuResult::kSuccess : CuResult::kNotReady;
      });
}

CuResult event_synchronize(CuEvent handle) {
  return with_event(
      handle, [](Machine& machine, Context& context, const Event& event, Scheduler::Lock& lock) {
        return wait_until(machine, *context.device, lock,
                          [last = event.last] { return last == nullptr || last->is_reached; });
      });
}

CuResult event_elapsed_time(float* milliseconds, CuEvent start_handle, CuEvent end_handle) {
  return call_in_context([&](Machine& machine, Context&, Scheduler::Lock&) {
    const auto start = machine.events.find(start_handle);
    const auto end = machine.events.find(end_handle);
    if (start == nullptr || end == nullptr) return CuResult::kInvalidHandle;
    if (!start->has_time || !end->has_time || start->last == nullptr || end->last == nullptr) {
      return CuResult::kInvalidHandle;
    }
    if (!start->last->is_reached || !end->last->is_reached) return CuResult::kNotReady;
    const auto ns = static_cast<std::int64_t>(end->last->time_ns - start->last->time_ns);
    *milliseconds = static_cast<float>(static_cast<double>(ns) * 1e-6);
    return CuResult::kSuccess;
  });
}

}  // namespace

void fill_event_entries(DriverTable& table) {
  table.event_create = event_create;
  table.event_destroy = event_destroy;
  table.event_record = event_record;
  table.event_query = event_query;
  table.event_synchronize = event_synchronize;
  table.event_elapsed_time = event_elapsed_time;
}

}  // namespace sluice::cuda::emulator
