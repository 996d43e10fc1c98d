// The part of convert.h that makes messages.
#include "base/utf8.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/fields.h"
#include "rpc/wire/function_messages.h"

namespace sluice::rpc::wire {
namespace {

void set_spec(const terms::TensorSpec& from, v1::TensorSpec& to) {
  to.set_name(valid_utf8(from.name));
  to.set_type(valid_utf8(from.type.to_string()));
  to.set_batch_axis(from.batch_axis);
  to.set_has_default(from.has_default);
}

/// Bounds and counts in two columns: repeated numbers are packed, messages for each bucket would
/// not be.
void set_latency(const terms::Latency& from, v1::Latency& to) {
  write_fields(from, to);
  for (const terms::Latency::Bucket& bucket : from.buckets) {
    to.add_bucket_bounds_ns(bucket.bound_ns);
    to.add_bucket_counts(bucket.count);
  }
}

void set_count(const terms::CodeCount& from, v1::ModelStatistics::CodeCount& to) {
  to.set_runtime_code(static_cast<std::int32_t>(from.code));
  to.set_count(from.count);
}

void set_usage(const terms::Usage& from, v1::Usage& to) {
  write_fields(from, to);
  for (const terms::CodeCount& count : from.answered) set_count(count, *to.add_answered());
  for (const auto& item : from.memory) {
    auto* one = to.add_memory();
    one->set_category(valid_utf8(item.category));
    one->set_bytes(item.bytes);
  }
  to.set_health(std::string(terms::health_name(from.health.state)));
  write_fields(from.health, to);
  if (from.sensors != terms::Sensors()) write_fields(from.sensors, *to.mutable_sensors());
  if (!from.pools) return;
  write_fields(*from.pools, *to.mutable_pools());
  for (const auto& left : from.pools->left) write_fields(left, *to.mutable_pools()->add_left());
}

}  // namespace

void to_proto(const terms::ServerInfo& from, v1::GetServerResponse& to) {
  write_fields(from, to);
  for (const std::string& folder : from.model_folders) to.add_model_folders(valid_utf8(folder));
  to.set_roles(terms::to_string(from.roles));
  for (const terms::Device& device : from.devices) {
    auto* one = to.add_devices();
    one->set_id(device.id.value());
    write_fields(device, *one);
  }
}

void to_proto(const terms::ServerHealth& from, v1::GetHealthResponse& to) {
  write_fields(from, to);
  to.set_descriptors(from.descriptors.num_open);
  to.set_max_descriptors(from.descriptors.max_open);
  for (const terms::ModelHealth& model : from.models) {
    auto* one = to.add_models();
    one->set_model(model.model);
    one->set_name(valid_utf8(model.name));
    one->set_state(std::string(terms::health_name(model.health.state)));
    write_fields(model.health, *one);
  }
  for (const terms::DeviceHealth& device : from.devices) {
    auto* one = to.add_devices();
    one->set_device(device.device.value());
    one->set_state(std::string(terms::health_name(device.health.state)));
    write_fields(device.health, *one);
  }
}

void to_proto(const terms::SessionInfo& from, v1::Session& to) {
  to.set_id(static_cast<std::uint64_t>(from.id));
  write_fields(from, to);
  write_fields(from.peer, *to.mutable_peer());
}

void to_proto(const terms::GroupEntry& from, v1::Group& to) {
  to.set_handle(static_cast<std::uint64_t>(from.info.id.value()));
  to.set_is_implicit(from.info.origin == terms::GroupOrigin::kImplicit);
  for (const terms::CoreRef& core : from.info.cores) {
    auto* one = to.add_cores();
    one->set_device(core.device.value());
    one->set_core(core.core);
  }
  write_fields(from.info, to);
  to.set_session(static_cast<std::uint64_t>(from.session));
  const terms::WorkerInfo& worker = from.info.worker;
  to.set_isolation(std::string(terms::isolation_name(worker.isolation)));
  // Groups within the daemon leave the worker's fields at their defaults.
  if (worker.isolation != terms::Isolation::kProcess) return;
  to.set_worker_process(worker.process);
  to.set_num_worker_restarts(worker.num_restarts);
  to.set_worker_state(worker.state);
  to.set_worker_reason(valid_utf8(worker.reason));
}

void to_proto(const terms::Footprint& from, v1::Footprint& to) {
  write_fields(from, to);
  to.set_total_bytes(from.total_bytes());
}

void to_proto(const terms::RegionInfo& from, v1::Region& to) {
  to.set_handle(from.handle);
  to.set_name(valid_utf8(from.name));
  to.set_bytes(from.size_bytes);
  to.set_is_ring(from.is_ring);
}

void to_proto(const terms::ModelEntry& from, v1::Model& to) {
  to.set_handle(from.info.handle);
  to.set_name(valid_utf8(from.info.name));
  to.set_version(from.version);
  to.set_phase(std::string(terms::phase_name(from.info.phase)));
  to.set_group(static_cast<std::uint64_t>(from.info.group.value()));
  write_fields(from.info, to);
  to.set_shared_mode(from.info.mode == terms::LoadMode::kShared);
  to.set_shares_package(from.info.shares_package);
  to_proto(from.info.footprint, *to.mutable_footprint());
  // 0: the entry belongs to no session and stays when its client leaves.
  to.set_session(static_cast<std::uint64_t>(from.session));
  if (from.function) to_proto(*from.function, *to.mutable_function());
  if (from.graph) to_proto(*from.graph, *to.mutable_graph());
  for (const auto& spec : from.signature.inputs) set_spec(spec, *to.add_inputs());
  for (const auto& spec : from.signature.outputs) set_spec(spec, *to.add_outputs());
  to.set_has_fixed_inputs(from.signature.has_fixed_inputs);
}

void to_proto(const terms::ModelStatistics& from, v1::ModelStatistics& to) {
  to.set_model(from.model);
  to.set_name(valid_utf8(from.name));
  write_fields(from, to);
  for (const terms::CodeCount& count : from.answered) set_count(count, *to.add_answered());
  set_latency(from.queue, *to.mutable_queue());
  set_latency(from.copy, *to.mutable_copy());
  set_latency(from.compute, *to.mutable_compute());
  set_latency(from.total, *to.mutable_total());
}

void to_proto(const terms::ServerStatistics& from, v1::GetStatisticsResponse& to) {
  for (const terms::ModelStatistics& model : from.models) to_proto(model, *to.add_models());
  for (const terms::Usage& group : from.groups) set_usage(group, *to.add_groups());
  for (const terms::Usage& device : from.devices) set_usage(device, *to.add_devices());
  for (const terms::MemoryItem& item : from.memory) {
    auto* memory = to.add_memory();
    memory->set_category(item.category);
    memory->set_bytes(item.bytes);
  }
  to.set_memory_limit_bytes(from.memory_limit_bytes);
}

void to_proto(const terms::CoreRequest& from, v1::CreateGroupRequest& to) {
  to.set_num_cores(from.num_cores);
  to.set_num_devices(from.num_devices);
  if (from.first) {
    to.mutable_first()->set_device(from.first->device.value());
    to.mutable_first()->set_core(from.first->core);
  }
  to.set_memory_bytes(from.memory_bytes);
  to.set_kind(from.kind);
  for (const std::string& feature : from.features) to.add_features(feature);
  for (const terms::DeviceId id : from.devices) to.add_only_devices(id.value());
  for (const std::string& address : from.bus_addresses) to.add_only_bus_addresses(address);
}

void to_proto(const terms::ReplyDetail& from, v1::InferDetail& to) {
  to.set_group(from.group);
  to.mutable_cores()->Assign(from.cores.begin(), from.cores.end());
  for (const std::string& backend : from.backends) to.add_backends(valid_utf8(backend));
  to.set_queue_ns(from.queue_ns);
  to.set_copy_ns(from.copy_ns);
  to.set_compute_ns(from.compute_ns);
}

}  // namespace sluice::rpc::wire
