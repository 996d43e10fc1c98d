// What the plug-in offers beyond the table: links, and virtual time with its faults.
#include "plugin/extensions.h"

#include <algorithm>
#include <cstring>

#include "engine/simulator.h"
#include "sluice/extensions/events.h"
#include "sluice/extensions/foreign_memory.h"
#include "sluice/extensions/topology.h"
#include "sluice/extensions/virtual_time.h"

namespace sluice::sim {
namespace {

using plugin::guard;

Simulator& simulator_of(sluice_backend* backend) { return *reinterpret_cast<Simulator*>(backend); }

// ---- sluice.topology/1 --------------------------------------------------------------------------

std::int32_t link_count(sluice_backend* backend) {
  return static_cast<std::int32_t>(simulator_of(backend).description().links.size());
}

sluice_code describe_link(sluice_backend* backend, std::int32_t index, sluice_link* link,
                          sluice_message* message) {
  return guard(message, [&]() -> Status {
    const std::vector<Link>& links = simulator_of(backend).description().links;
    if (index < 0 || static_cast<std::size_t>(index) >= links.size()) {
      return {SLUICE_NOT_FOUND, "no link " + std::to_string(index)};
    }
    const Link& found = links[static_cast<std::size_t>(index)];
    sluice_link told = {};
    told.device_a = found.device_a;
    told.device_b = found.device_b;
    told.bytes_per_s = static_cast<std::int64_t>(found.path.bytes_per_s);
    told.latency_ns = found.path.latency_ns;
    plugin::detail::copy_out(told, link);
    return plugin::ok();
  });
}

constexpr sluice_topology kTopology = {sizeof(sluice_topology), link_count, describe_link};

// ---- sluice.virtual_time/1 ----------------------------------------------------------------------

std::int64_t now_ns(sluice_backend* backend) { return simulator_of(backend).now_ns(); }

std::int64_t next_event_ns(sluice_backend* backend) {
  return simulator_of(backend).next_event_ns();
}

void advance_to(sluice_backend* backend, std::int64_t time_ns) {
  simulator_of(backend).advance_to(time_ns);
}

std::int64_t log_size_bytes(sluice_backend* backend) {
  return static_cast<std::int64_t>(simulator_of(backend).log().size());
}

std::int64_t read_log(sluice_backend* backend, std::int64_t offset_bytes, char* target,
                      std::int64_t capacity_bytes) {
  const std::string log = simulator_of(backend).log();
  const auto total = static_cast<std::int64_t>(log.size());
  if (offset_bytes < 0 || offset_bytes >= total || capacity_bytes <= 0) return 0;
  const std::int64_t size = std::min(total - offset_bytes, capacity_bytes);
  std::memcpy(target, log.data() + offset_bytes, static_cast<std::size_t>(size));
  return size;
}

sluice_code inject_fault(sluice_backend* backend, const char* text, std::int64_t* id,
                         sluice_message* message) {
  return guard(message, [&] {
    Json json;
    Status status = parse_json(text, &json);
    if (!status.is_ok()) return status;
    Fault fault = read_fault(json, "fault", simulator_of(backend).num_devices(), &status);
    if (status.is_ok()) *id = simulator_of(backend).inject(std::move(fault));
    return status;
  });
}

sluice_code clear_fault(sluice_backend* backend, std::int64_t id, sluice_message* message) {
  return guard(message, [&] { return simulator_of(backend).clear_fault(id); });
}

sluice_code reset_device(sluice_backend* backend, std::int32_t device, sluice_message* message) {
  return guard(message, [&] { return simulator_of(backend).reset_device(device); });
}

std::int64_t memory_used_bytes(sluice_backend* backend, std::int32_t device) {
  const Simulator& simulator = simulator_of(backend);
  return simulator.check_device(device).is_ok() ? simulator.memory_used_bytes(device) : -1;
}

constexpr sluice_device_reset kDeviceReset = {sizeof(sluice_device_reset), 0, reset_device};

constexpr sluice_virtual_time kVirtualTime = {sizeof(sluice_virtual_time),
                                              now_ns,
                                              next_event_ns,
                                              advance_to,
                                              log_size_bytes,
                                              read_log,
                                              inject_fault,
                                              clear_fault,
                                              reset_device,
                                              memory_used_bytes};

// ---- sluice.events/1 ----------------------------------------------------------------------------

Event& event_of(sluice_event* event) { return *reinterpret_cast<Event*>(event); }
Stream* stream_of(sluice_stream* stream) { return reinterpret_cast<Stream*>(stream); }

sluice_code event_create(sluice_backend* backend, sluice_event** event, sluice_message* message) {
  return guard(message, [&] {
    *event = reinterpret_cast<sluice_event*>(simulator_of(backend).create_event());
    return plugin::ok();
  });
}

void event_destroy(sluice_event* event) {
  event_of(event).simulator->destroy_event(&event_of(event));
}

sluice_code event_record(sluice_event* event, sluice_stream* stream, sluice_message* message) {
  return guard(message, [&] {
    event_of(event).simulator->record(&event_of(event), stream_of(stream));
    return plugin::ok();
  });
}

sluice_code stream_wait_event(sluice_stream* stream, sluice_event* event, sluice_message* message) {
  return guard(message, [&] {
    event_of(event).simulator->wait_for(&event_of(event), stream_of(stream));
    return plugin::ok();
  });
}

constexpr sluice_events kEvents = {sizeof(sluice_events), event_create, event_destroy, event_record,
                                   stream_wait_event};

// ---- sluice.foreign_memory/1 --------------------------------------------------------------------

sluice_code check_memory(sluice_backend* backend, std::int32_t device, const void* address,
                         std::int64_t size_bytes, sluice_message* message) {
  return guard(message,
               [&] { return simulator_of(backend).check_memory(device, address, size_bytes); });
}

constexpr sluice_foreign_memory kForeignMemory = {sizeof(sluice_foreign_memory), 0, check_memory};

}  // namespace

const void* find_extension(sluice_backend*, const char* name) {
  if (std::strcmp(name, SLUICE_DEVICE_RESET) == 0) return &kDeviceReset;
  if (std::strcmp(name, SLUICE_EVENTS) == 0) return &kEvents;
  if (std::strcmp(name, SLUICE_FOREIGN_MEMORY) == 0) return &kForeignMemory;
  if (std::strcmp(name, SLUICE_TOPOLOGY) == 0) return &kTopology;
  if (std::strcmp(name, SLUICE_VIRTUAL_TIME) == 0) return &kVirtualTime;
  return nullptr;
}

}  // namespace sluice::sim
