#include <nlohmann/json.hpp>

#include <algorithm>

#include "activity/activity.h"
#include "terms/runtime_code.h"

namespace sluice::activity {
namespace {

using nlohmann::ordered_json;

/// A device, group or model that is new has no rate yet.
template <typename Map>
typename Map::mapped_type value_or_zero(const Map& map, std::uint64_t key) {
  const auto it = map.find(key);
  return it == map.end() ? typename Map::mapped_type() : it->second;
}

std::int64_t sum_of(const std::vector<terms::MemoryItem>& memory) {
  std::int64_t sum = 0;
  for (const terms::MemoryItem& item : memory) sum += item.bytes;
  return sum;
}

void add_health(const terms::Health& health, ordered_json& to) {
  to["health"] = terms::health_name(health.state);
  to["health_reason"] = health.reason;
  to["health_action"] = health.action;
}

/// Counts of failed answers by code, each with its remedy.
ordered_json errors(const std::vector<terms::CodeCount>& answered) {
  ordered_json all = ordered_json::array();
  for (const terms::CodeCount& one : answered) {
    // Counts of 0 would fill the list, and successes have no remedy.
    if (one.code == RuntimeCode::kOk || one.count == 0) continue;
    const terms::RuntimeCodeInfo& info = terms::describe(one.code);
    all.push_back({{"code", info.name}, {"count", one.count}, {"remedy", info.remedy}});
  }
  return all;
}

/// What groups and devices have in common.
void add_usage(const std::vector<terms::Usage>& all, std::uint64_t id, ordered_json& to) {
  const auto it = std::ranges::find(all, id, &terms::Usage::id);
  if (it == all.end()) return;  // made between two calls
  ordered_json memory = ordered_json::object();
  for (const auto& item : it->memory) memory[item.category] = item.bytes;
  to["num_requests"] = num_answered(it->answered);
  to["num_errors"] = num_errors(it->answered);
  to["memory_bytes"] = std::move(memory);
  to["memory_used_bytes"] = sum_of(it->memory);
  add_health(it->health, to);
}

/// What the machine does not tell is absent.
ordered_json sensors_of(const terms::Sensors& from) {
  ordered_json all = ordered_json::object();
  terms::Sensors::visit_fields([&](const terms::Field& field, auto of) {
    const auto& value = of(from);
    if constexpr (requires { value.has_value(); }) {
      if (value) all[field.name] = *value;
    } else if (value != std::decay_t<decltype(value)>()) {
      all[field.name] = value;
    }
  });
  return all;
}

template <typename Struct>
ordered_json fields_of(const Struct& from) {
  ordered_json all = ordered_json::object();
  Struct::visit_fields([&](const terms::Field& field, auto of) { all[field.name] = of(from); });
  return all;
}

ordered_json pools_of(const terms::DevicePools& from) {
  ordered_json all = fields_of(from);
  all["left"] = ordered_json::array();
  for (const auto& left : from.left) all["left"].push_back(fields_of(left));
  return all;
}

ordered_json devices(const Snapshot& now, const Activity& activity) {
  ordered_json all = ordered_json::array();
  for (const terms::Device& device : now.server.devices) {
    const auto id = static_cast<std::uint64_t>(device.id.value());
    const auto it = std::ranges::find(now.statistics.devices, id, &terms::Usage::id);
    // Names of fields are an interface: scripts read the lines of `sluice monitor`, and the page
    // reads them too. A release adds fields and renames none.
    ordered_json one = {
        {"device", id},
        {"kind", device.kind},
        {"name", device.name},
        {"bus_address", device.bus_address},
        {"num_cores", device.num_cores},
        {"num_reserved_cores", it == now.statistics.devices.end() ? 0 : it->num_reserved_cores},
        {"memory_capacity_bytes", device.memory_bytes},
        // A share of all the device's cores, 0 to 1, within the interval.
        {"utilisation", value_or_zero(activity.device_utilisation, id)}};
    add_usage(now.statistics.devices, id, one);
    const bool is_known = it != now.statistics.devices.end();
    one["is_withdrawn"] = is_known && it->is_withdrawn;
    one["sensors"] = sensors_of(is_known ? it->sensors : terms::Sensors());
    if (is_known && it->pools) one["pools"] = pools_of(*it->pools);
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json groups(const Snapshot& now, const Activity& activity) {
  ordered_json all = ordered_json::array();
  for (const terms::GroupEntry& group : now.groups) {
    const auto id = static_cast<std::uint64_t>(group.info.id.value());
    ordered_json cores = ordered_json::array();
    for (const terms::CoreRef& core : group.info.cores) {
      cores.push_back({{"device", core.device.value()}, {"core", core.core}});
    }
    const terms::WorkerInfo& worker = group.info.worker;
    ordered_json one = {{"group", id},
                        {"num_cores", group.info.cores.size()},
                        {"cores", std::move(cores)},
                        {"is_implicit", group.info.origin == terms::GroupOrigin::kImplicit},
                        {"num_models", group.info.num_models},
                        {"active_model", group.info.active_model},
                        {"num_switches", group.info.num_switches},
                        {"max_memory_bytes", group.info.max_memory_bytes},
                        {"isolation", terms::isolation_name(worker.isolation)},
                        {"worker_state", worker.state},
                        {"worker_process", worker.process},
                        {"worker_reason", worker.reason},
                        {"num_worker_restarts", worker.num_restarts},
                        {"session", static_cast<std::uint64_t>(group.session)},
                        {"utilisation", value_or_zero(activity.group_utilisation, id)}};
    add_usage(now.statistics.groups, id, one);
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json times(const terms::Latency& from) {
  return {{"count", from.count},
          {"sum_ns", from.sum_ns},
          {"p50_ns", from.p50_ns},
          {"p99_ns", from.p99_ns}};
}

ordered_json function_of(const terms::FunctionState& from) {
  return {{"phase", terms::phase_name(from.phase)}, {"share", from.options.share},
          {"priority", from.options.priority},      {"keep_warm_ns", from.options.keep_warm_ns},
          {"held_bytes", from.held_bytes},          {"num_starts", from.num_starts},
          {"last_start_ns", from.last_start_ns},    {"num_joined", from.num_joined}};
}

void add_statistics(const terms::ModelStatistics& from, ordered_json& to) {
  to["num_requests"] = num_answered(from.answered);
  to["num_errors"] = num_errors(from.answered);
  to["refused"] = from.refused;
  to["waiting"] = from.waiting;
  to["max_waiting"] = from.max_waiting;
  to["joined"] = from.joined;
  to["p50_ns"] = from.total.p50_ns;
  to["p99_ns"] = from.total.p99_ns;
  to["queue"] = times(from.queue);
  to["copy"] = times(from.copy);
  to["compute"] = times(from.compute);
  to["total"] = times(from.total);
  to["recorded_bytes"] = from.recorded_bytes;
  to["errors"] = errors(from.answered);
}

ordered_json model_of(const Snapshot& now, const Activity& activity,
                      const terms::ModelEntry& model) {
  const std::uint64_t handle = model.info.handle;
  const Activity::Rate rate = value_or_zero(activity.models, handle);
  ordered_json one = {{"model", handle},
                      {"name", model.info.name},
                      {"version", model.version},
                      {"phase", terms::phase_name(model.info.phase)},
                      {"group", model.info.group.value()},
                      {"session", static_cast<std::uint64_t>(model.session)},
                      {"depth", model.info.depth},
                      {"queue_limit", model.info.queue_limit},
                      {"footprint_bytes", model.info.footprint.total_bytes()},
                      {"slots_bytes", model.info.slots_bytes},
                      {"requests_per_s", rate.requests_per_s},
                      {"errors_per_s", rate.errors_per_s},
                      {"interval_p50_ns", rate.p50_ns},
                      {"interval_p99_ns", rate.p99_ns}};
  // Absent fields rather than nulls: a reader asks whether a model is a function.
  if (model.function) one["function"] = function_of(*model.function);
  if (model.graph) one["num_graph_nodes"] = model.graph->nodes.size();
  const auto health = std::ranges::find(now.health.models, handle, &terms::ModelHealth::model);
  if (health != now.health.models.end()) add_health(health->health, one);
  const auto it = std::ranges::find(now.statistics.models, handle, &terms::ModelStatistics::model);
  if (it != now.statistics.models.end()) add_statistics(*it, one);
  return one;
}

ordered_json sessions(const Snapshot& now) {
  ordered_json all = ordered_json::array();
  for (const terms::SessionInfo& session : now.sessions) {
    all.push_back({{"session", static_cast<std::uint64_t>(session.id)},
                   {"client", session.client},
                   {"address", session.peer.address},
                   {"process", session.peer.process},
                   {"user", session.peer.user},
                   {"age_ns", session.age_ns},
                   {"num_cores", session.num_cores},
                   {"num_models", session.num_models},
                   {"num_in_flight", session.num_in_flight},
                   {"num_ring_requests", session.num_ring_requests}});
  }
  return all;
}

}  // namespace

std::string activity_line(const Snapshot& now, const Activity& activity, double unix_time_s) {
  ordered_json models = ordered_json::array();
  for (const terms::ModelEntry& model : now.models) {
    models.push_back(model_of(now, activity, model));
  }
  const ordered_json line = {{"time_s", unix_time_s},
                             {"interval_s", activity.interval_s},
                             {"version", now.server.version},
                             {"process", now.server.process},
                             {"state", now.server.state},
                             {"is_ready", now.health.is_ready},
                             {"reason", now.health.reason},
                             {"uptime_ns", now.server.uptime_ns},
                             {"num_cores", now.server.num_cores},
                             {"num_free_cores", now.server.num_free_cores},
                             {"descriptors", now.health.descriptors.num_open},
                             {"max_descriptors", now.health.descriptors.max_open},
                             {"num_refused_connections", now.health.num_refused_connections},
                             {"requests_per_s", activity.all.requests_per_s},
                             {"errors_per_s", activity.all.errors_per_s},
                             {"interval_p50_ns", activity.all.p50_ns},
                             {"interval_p99_ns", activity.all.p99_ns},
                             {"devices", devices(now, activity)},
                             {"groups", groups(now, activity)},
                             {"models", std::move(models)},
                             {"sessions", sessions(now)}};
  // One line without line breaks, as JSON Lines wants. Names may hold bytes that are not UTF-8, on
  // which dump would throw.
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace sluice::activity
