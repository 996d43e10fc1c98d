#include "plugin/extensions.h"

#include "plugin/backend.h"

namespace sluice::cuda {
namespace {

/// The driver's event belongs to the device of the stream that recorded it last.
struct Event {
  Backend* backend;
  CuDevice device = 0;
  CuEvent handle = nullptr;  // null: never recorded
};

Event& of(sluice_event* event) { return *reinterpret_cast<Event*>(event); }
Stream& of(sluice_stream* stream) { return *reinterpret_cast<Stream*>(stream); }

sluice_code create(sluice_backend* backend, sluice_event** event, sluice_message* message) {
  return plugin::guard(message, [&] {
    *event = reinterpret_cast<sluice_event*>(new Event{reinterpret_cast<Backend*>(backend)});
    return plugin::ok();
  });
}

void destroy_handle(Event& event) {
  if (event.handle == nullptr || !event.backend->enter(event.device).is_ok()) return;
  event.backend->driver().table.event_destroy(std::exchange(event.handle, nullptr));
}

void destroy(sluice_event* event) {
  destroy_handle(of(event));
  delete &of(event);
}

Status record_on(Event& event, Stream& stream) {
  const Driver& driver = event.backend->driver();
  if (event.device != stream.group->device) destroy_handle(event);
  event.device = stream.group->device;
  if (Status status = event.backend->enter(event.device); !status.is_ok()) return status;
  // Who waits for the event finds the bytes that go to the host in their places.
  if (Status status = stream.copies.settle(driver, stream.handle); !status.is_ok()) return status;
  if (event.handle == nullptr) {
    Status status = check_call(
        driver, driver.table.event_create(&event.handle, kEventDisableTiming), "making an event");
    if (!status.is_ok()) return status;
  }
  return check_call(driver, driver.table.event_record(event.handle, stream.handle),
                    "recording an event");
}

sluice_code record(sluice_event* event, sluice_stream* stream, sluice_message* message) {
  return plugin::guard(message, [&] { return record_on(of(event), of(stream)); });
}

sluice_code wait(sluice_stream* stream, sluice_event* event, sluice_message* message) {
  return plugin::guard(message, [&] {
    const Event& awaited = of(event);
    if (awaited.handle == nullptr) return plugin::ok();
    if (Status status = awaited.backend->enter(of(stream).group->device); !status.is_ok()) {
      return status;
    }
    const Driver& driver = awaited.backend->driver();
    return check_call(driver, driver.table.stream_wait_event(of(stream).handle, awaited.handle, 0),
                      "waiting for an event");
  });
}

sluice_code check_memory(sluice_backend* backend, std::int32_t device, const void* address,
                         std::int64_t size_bytes, sluice_message* message) {
  return plugin::guard(message, [&] {
    return reinterpret_cast<Backend*>(backend)->check_memory(device, address, size_bytes);
  });
}

sluice_code list_variants(sluice_backend* backend, const sluice_op* op, std::int32_t /*num_cores*/,
                          sluice_variant_visitor visit, void* user, sluice_message* message) {
  return plugin::guard(message, [&] {
    std::vector<std::string> names;
    Status status = reinterpret_cast<Backend*>(backend)->list_tactics(*op, &names);
    for (const std::string& name : names) visit(user, name.c_str());
    return status;
  });
}

/// Lists never adapt to what else the processor does.
void run_steadily(sluice_backend* /*backend*/, std::int32_t /*steady*/) {}

}  // namespace

const sluice_events kEvents = {sizeof(sluice_events), create, destroy, record, wait};
const sluice_foreign_memory kForeignMemory = {sizeof(sluice_foreign_memory), 0, check_memory};
const sluice_variants kVariants = {sizeof(sluice_variants), 0, list_variants, run_steadily};

}  // namespace sluice::cuda
