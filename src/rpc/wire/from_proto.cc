// The part of convert.h that reads messages.
#include <algorithm>
#include <array>
#include <limits>

#include "rpc/wire/convert.h"
#include "rpc/wire/fields.h"
#include "rpc/wire/function_messages.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::wire {
namespace {

using terms::runtime_error;

Result<terms::TensorSpec> spec_of(const v1::TensorSpec& from) {
  // Not within the braces: what stands before an early return there is never destroyed.
  ir::Type type = SLUICE_TRY(ir::parse_type(from.type()));
  return terms::TensorSpec{from.name(), std::move(type), from.batch_axis(), from.has_default()};
}

terms::Latency latency_of(const v1::Latency& from) {
  terms::Latency to;
  read_fields(from, to);
  // A message may have lists of different lengths; what has no partner is left out.
  const int num_buckets = std::min(from.bucket_bounds_ns_size(), from.bucket_counts_size());
  for (int i = 0; i < num_buckets; ++i) {
    to.buckets.push_back({from.bucket_bounds_ns(i), from.bucket_counts(i)});
  }
  return to;
}

/// The value whose name is `name`; the last for a name of none.
template <typename Enum, std::size_t kCount>
Enum by_name(const std::array<Enum, kCount>& values, std::string_view name,
             std::string_view (*name_of)(Enum)) {
  for (const Enum value : values) {
    if (name_of(value) == name) return value;
  }
  // Another version of the daemon may have states that this client does not know.
  return values.back();
}

terms::Health health_of(const std::string& state, const std::string& reason,
                        const std::string& action) {
  using terms::HealthState;
  constexpr std::array kStates = {HealthState::kHealthy, HealthState::kDegraded,
                                  HealthState::kFailed};
  return {by_name(kStates, state, &terms::health_name), reason, action};
}

terms::CodeCount count_of(const v1::ModelStatistics::CodeCount& from) {
  return {static_cast<RuntimeCode>(from.runtime_code()), from.count()};
}

terms::Usage usage_of(const v1::Usage& from) {
  terms::Usage to;
  read_fields(from, to);
  for (const auto& one : from.answered()) to.answered.push_back(count_of(one));
  for (const auto& one : from.memory()) to.memory.push_back({one.category(), one.bytes()});
  to.health = health_of(from.health(), from.reason(), from.action());
  read_fields(from.sensors(), to.sensors);
  if (!from.has_pools()) return to;
  read_fields(from.pools(), to.pools.emplace());
  for (const auto& left : from.pools().left()) read_fields(left, to.pools->left.emplace_back());
  return to;
}

Status not_negative(std::int64_t number, std::string_view what) {
  if (number >= 0) return ok_status();
  return runtime_error(RuntimeCode::kInvalid, "{}: {} is negative", what, number);
}

}  // namespace

Result<terms::CoreRequest> from_proto(const v1::CreateGroupRequest& from) {
  // The daemon reads these messages from clients: every number is checked before it becomes a size
  // or an id.
  SLUICE_TRY(not_negative(from.num_cores(), "num_cores"));
  SLUICE_TRY(not_negative(from.num_devices(), "num_devices"));
  SLUICE_TRY(not_negative(from.memory_bytes(), "memory_bytes"));
  terms::CoreRequest request;
  request.num_cores = from.num_cores();
  request.num_devices = from.num_devices();
  if (from.has_first()) {
    SLUICE_TRY(not_negative(from.first().device(), "first.device"));
    SLUICE_TRY(not_negative(from.first().core(), "first.core"));
    request.first = {terms::DeviceId(from.first().device()), from.first().core()};
  }
  request.memory_bytes = from.memory_bytes();
  request.kind = from.kind();
  request.features.assign(from.features().begin(), from.features().end());
  for (const std::int32_t id : from.only_devices()) {
    SLUICE_TRY(not_negative(id, "only_devices"));
    request.devices.push_back(terms::DeviceId(id));
  }
  request.bus_addresses.assign(from.only_bus_addresses().begin(), from.only_bus_addresses().end());
  return request;
}

Result<terms::CoreGroupId> group_from_proto(std::uint64_t handle) {
  // Handles are 64 bits in the protocol and 32 within: larger ones name no group.
  if (handle == 0 || handle > std::uint64_t{std::numeric_limits<std::int32_t>::max()}) {
    return runtime_error(RuntimeCode::kInvalidHandle, "no group has handle {:#x}", handle);
  }
  return terms::CoreGroupId(static_cast<std::int32_t>(handle));
}

Result<std::optional<terms::Isolation>> isolation_from_proto(const std::string& name) {
  std::optional<terms::Isolation> isolation;
  if (!name.empty()) isolation = SLUICE_TRY(terms::parse_isolation(name));
  return isolation;
}

/// Here and below: what a daemon says to its clients, who trust it. Numbers are not checked.
terms::ServerInfo from_proto(const v1::GetServerResponse& from) {
  terms::ServerInfo to;
  read_fields(from, to);
  to.model_folders.assign(from.model_folders().begin(), from.model_folders().end());
  const auto roles = terms::parse_roles(from.roles());
  if (roles.is_ok()) to.roles = *roles;  // a daemon before minor version 6 tells none
  for (const auto& one : from.devices()) {
    terms::Device device;
    device.id = terms::DeviceId(one.id());
    read_fields(one, device);
    to.devices.push_back(std::move(device));
  }
  return to;
}

terms::ServerHealth from_proto(const v1::GetHealthResponse& from) {
  terms::ServerHealth to;
  read_fields(from, to);
  to.descriptors = {from.descriptors(), from.max_descriptors()};
  for (const auto& one : from.models()) {
    to.models.push_back(
        {one.model(), one.name(), health_of(one.state(), one.reason(), one.action())});
  }
  for (const auto& one : from.devices()) {
    to.devices.push_back(
        {terms::DeviceId(one.device()), health_of(one.state(), one.reason(), one.action())});
  }
  return to;
}

terms::RegionInfo from_proto(const v1::Region& from) {
  return {from.handle(), from.name(), from.bytes(), from.is_ring()};
}

terms::SessionInfo from_proto(const v1::Session& from) {
  terms::SessionInfo to;
  to.id = terms::SessionId(from.id());
  read_fields(from, to);
  read_fields(from.peer(), to.peer);
  return to;
}

terms::GroupEntry from_proto(const v1::Group& from) {
  terms::GroupEntry to;
  to.info.id = terms::CoreGroupId(static_cast<std::int32_t>(from.handle()));
  to.info.origin =
      from.is_implicit() ? terms::GroupOrigin::kImplicit : terms::GroupOrigin::kExplicit;
  for (const v1::Core& core : from.cores()) {
    to.info.cores.push_back({terms::DeviceId(core.device()), core.core()});
  }
  read_fields(from, to.info);
  to.session = terms::SessionId(from.session());
  const auto isolation = terms::parse_isolation(from.isolation());
  if (isolation.is_ok()) to.info.worker.isolation = *isolation;
  to.info.worker.process = from.worker_process();
  to.info.worker.num_restarts = from.num_worker_restarts();
  to.info.worker.state = from.worker_state();
  to.info.worker.reason = from.worker_reason();
  return to;
}

terms::Footprint from_proto(const v1::Footprint& from) {
  terms::Footprint to;
  read_fields(from, to);
  return to;
}

Result<terms::ModelEntry> from_proto(const v1::Model& from) {
  using terms::ModelPhase;
  constexpr std::array kPhases = {ModelPhase::kLoaded, ModelPhase::kStarted, ModelPhase::kStopped,
                                  ModelPhase::kFailed, ModelPhase::kUnloaded};
  terms::ModelEntry to;
  to.info.handle = from.handle();
  to.info.name = from.name();
  to.version = std::max<std::int64_t>(from.version(), 1);  // 0 of an older daemon
  to.info.phase = by_name(kPhases, from.phase(), &terms::phase_name);
  to.info.group = terms::CoreGroupId(static_cast<std::int32_t>(from.group()));
  read_fields(from, to.info);
  to.info.mode = from.shared_mode() ? terms::LoadMode::kShared : terms::LoadMode::kNormal;
  to.info.shares_package = from.shares_package();
  to.info.footprint = from_proto(from.footprint());
  to.session = terms::SessionId(from.session());
  if (from.has_function()) to.function = from_proto(from.function());
  if (from.has_graph()) to.graph = from_proto(from.graph());
  for (const auto& spec : from.inputs()) to.signature.inputs.push_back(SLUICE_TRY(spec_of(spec)));
  for (const auto& spec : from.outputs()) to.signature.outputs.push_back(SLUICE_TRY(spec_of(spec)));
  to.signature.has_fixed_inputs = from.has_fixed_inputs();
  return to;
}

terms::ModelStatistics from_proto(const v1::ModelStatistics& from) {
  terms::ModelStatistics to;
  to.model = from.model();
  to.name = from.name();
  read_fields(from, to);
  for (const auto& one : from.answered()) to.answered.push_back(count_of(one));
  to.queue = latency_of(from.queue());
  to.copy = latency_of(from.copy());
  to.compute = latency_of(from.compute());
  to.total = latency_of(from.total());
  return to;
}

terms::ServerStatistics from_proto(const v1::GetStatisticsResponse& from) {
  terms::ServerStatistics to;
  for (const auto& one : from.models()) to.models.push_back(from_proto(one));
  for (const auto& one : from.groups()) to.groups.push_back(usage_of(one));
  for (const auto& one : from.devices()) to.devices.push_back(usage_of(one));
  for (const auto& one : from.memory()) to.memory.push_back({one.category(), one.bytes()});
  to.memory_limit_bytes = from.memory_limit_bytes();
  return to;
}

terms::ReplyDetail from_proto(const v1::InferDetail& from) {
  terms::ReplyDetail to;
  to.group = from.group();
  to.cores.assign(from.cores().begin(), from.cores().end());
  to.backends.assign(from.backends().begin(), from.backends().end());
  to.queue_ns = from.queue_ns();
  to.copy_ns = from.copy_ns();
  to.compute_ns = from.compute_ns();
  return to;
}

}  // namespace sluice::rpc::wire
