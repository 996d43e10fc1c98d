#include "describe.h"

#include <vector>

#include "tensors.h"

namespace nb = nanobind;

namespace sluice::python {
namespace {

nb::dict describe_latency(const sluice_latency& latency) {
  nb::dict fields;
  fields["requests"] = latency.count;
  fields["sum_ns"] = latency.sum_ns;
  fields["p50_ns"] = latency.p50_ns;
  fields["p90_ns"] = latency.p90_ns;
  fields["p99_ns"] = latency.p99_ns;
  fields["max_ns"] = latency.max_ns;
  return fields;
}

nb::list describe_tensors(const sluice_tensor_spec* const* specs, std::size_t count) {
  nb::list described;
  for (std::size_t i = 0; i < count; ++i) {
    const sluice_tensor_spec& spec = *specs[i];
    const std::vector<std::int64_t> dims(spec.dims, spec.dims + (spec.rank > 0 ? spec.rank : 0));
    described.append(describe_spec(spec.name, spec.type, spec.element_type, spec.rank, dims,
                                   spec.batch_axis, spec.has_default != 0));
  }
  return described;
}

}  // namespace

nb::dict describe(const sluice_device& device) {
  nb::dict fields;
  fields["id"] = device.id;
  fields["kind"] = device.kind;
  fields["name"] = device.name;
  fields["backend"] = device.backend;
  fields["bus_address"] = device.bus_address;
  fields["num_cores"] = device.num_cores;
  fields["memory_bytes"] = device.memory_bytes;
  return fields;
}

nb::dict describe(const sluice_group_info& group) {
  nb::list cores;
  for (std::size_t i = 0; i < group.num_cores; ++i) {
    cores.append(nb::make_tuple(group.cores[i].device, group.cores[i].core));
  }
  nb::dict fields;
  fields["id"] = group.group;
  fields["is_implicit"] = group.is_implicit != 0;
  fields["num_models"] = group.num_models;
  fields["cores"] = nb::tuple(cores);
  fields["active_model"] = group.active_model;
  fields["num_switches"] = group.num_switches;
  fields["memory_used_bytes"] = group.memory_used_bytes;
  fields["max_memory_bytes"] = group.max_memory_bytes;
  return fields;
}

nb::dict describe(const sluice_footprint& footprint) {
  nb::dict fields;
  fields["constants_bytes"] = footprint.constants_bytes;
  fields["packed_bytes"] = footprint.packed_bytes;
  fields["context_bytes"] = footprint.context_bytes;
  fields["total_bytes"] = footprint.total_bytes;
  fields["depth"] = footprint.depth;
  fields["is_context_known"] = footprint.is_context_known != 0;
  return fields;
}

nb::dict describe(const sluice_loaded_model& model) {
  nb::dict fields;
  fields["id"] = model.model;
  fields["name"] = model.name;
  fields["phase"] = model.phase;
  fields["mode"] = model.mode;
  fields["group"] = model.group;
  fields["is_implicit"] = model.is_implicit != 0;
  fields["is_on_demand"] = model.is_on_demand != 0;
  fields["depth"] = model.depth;
  fields["queue_limit"] = model.queue_limit;
  fields["inputs"] = describe_tensors(model.inputs, model.num_inputs);
  fields["outputs"] = describe_tensors(model.outputs, model.num_outputs);
  fields["footprint"] = describe(model.footprint);
  fields["slots_bytes"] = model.slots_bytes;
  fields["has_fixed_inputs"] = model.has_fixed_inputs != 0;
  return fields;
}

nb::dict describe(const sluice_model_statistics& statistics) {
  nb::dict answered;
  for (std::size_t i = 0; i < statistics.num_answered; ++i) {
    answered[nb::int_(statistics.answered[i].runtime_code)] = statistics.answered[i].count;
  }
  nb::dict fields;
  fields["accepted"] = statistics.accepted;
  fields["refused"] = statistics.refused;
  fields["waiting"] = statistics.waiting;
  fields["max_waiting"] = statistics.max_waiting;
  fields["num_starts"] = statistics.num_starts;
  fields["busy_ns"] = statistics.busy_ns;
  fields["answered"] = answered;
  fields["queue"] = describe_latency(statistics.queue);
  fields["copy"] = describe_latency(statistics.copy);
  fields["compute"] = describe_latency(statistics.compute);
  fields["total"] = describe_latency(statistics.total);
  fields["recorded_bytes"] = statistics.recorded_bytes;
  fields["joined"] = statistics.joined;
  return fields;
}

nb::dict describe(const sluice_health& health) {
  nb::dict fields;
  fields["state"] = health.state;
  fields["reason"] = health.reason;
  fields["action"] = health.action;
  return fields;
}

nb::dict describe(const sluice_span& span) {
  nb::dict fields;
  fields["kind"] = span.kind;
  fields["runtime_code"] = span.runtime_code;
  fields["model"] = span.model;
  fields["name"] = span.name;
  fields["request"] = span.request;
  fields["lane"] = span.lane;
  fields["start_ns"] = span.start_ns;
  fields["duration_ns"] = span.duration_ns;
  return fields;
}

nb::dict describe(const sluice_profile& profile) {
  nb::list spans;
  for (std::size_t i = 0; i < profile.count; ++i) spans.append(describe(*profile.spans[i]));
  nb::dict fields;
  fields["spans"] = spans;
  fields["num_dropped"] = profile.num_dropped;
  fields["start_ns"] = profile.start_ns;
  fields["duration_ns"] = profile.duration_ns;
  return fields;
}

}  // namespace sluice::python
