#include <nlohmann/json.hpp>

#include <algorithm>

#include "sluice/remote/watch/activity.h"

namespace sluice::tool {
namespace {

using nlohmann::ordered_json;

template <typename Map>
typename Map::mapped_type value_or_zero(const Map& map, std::uint64_t key) {
  const auto it = map.find(key);
  return it == map.end() ? typename Map::mapped_type() : it->second;
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
  to["health"] = terms::health_name(it->health.state);
}

ordered_json devices(const Snapshot& now, const Activity& activity) {
  ordered_json all = ordered_json::array();
  for (const terms::Device& device : now.server.devices) {
    const auto id = static_cast<std::uint64_t>(device.id.value());
    const auto it = std::ranges::find(now.statistics.devices, id, &terms::Usage::id);
    ordered_json one = {
        {"device", id},
        {"kind", device.kind},
        {"num_cores", device.num_cores},
        {"num_reserved_cores", it == now.statistics.devices.end() ? 0 : it->num_reserved_cores},
        {"utilisation", value_or_zero(activity.device_utilisation, id)}};
    add_usage(now.statistics.devices, id, one);
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json groups(const Snapshot& now, const Activity& activity) {
  ordered_json all = ordered_json::array();
  for (const terms::GroupEntry& group : now.groups) {
    const auto id = static_cast<std::uint64_t>(group.info.id.value());
    ordered_json one = {{"group", id},
                        {"num_cores", group.info.cores.size()},
                        {"active_model", group.info.active_model},
                        {"isolation", terms::isolation_name(group.info.worker.isolation)},
                        {"worker_state", group.info.worker.state},
                        {"num_worker_restarts", group.info.worker.num_restarts},
                        {"session", static_cast<std::uint64_t>(group.session)},
                        {"utilisation", value_or_zero(activity.group_utilisation, id)}};
    add_usage(now.statistics.groups, id, one);
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json models(const Snapshot& now, const Activity& activity) {
  ordered_json all = ordered_json::array();
  for (const terms::ModelEntry& model : now.models) {
    const std::uint64_t handle = model.info.handle;
    const Activity::Rate rate = value_or_zero(activity.models, handle);
    ordered_json one = {{"model", handle},
                        {"name", model.info.name},
                        {"phase", terms::phase_name(model.info.phase)},
                        {"group", model.info.group.value()},
                        {"session", static_cast<std::uint64_t>(model.session)},
                        {"requests_per_s", rate.requests_per_s},
                        {"errors_per_s", rate.errors_per_s},
                        {"interval_p50_ns", rate.p50_ns},
                        {"interval_p99_ns", rate.p99_ns}};
    const auto it =
        std::ranges::find(now.statistics.models, handle, &terms::ModelStatistics::model);
    if (it != now.statistics.models.end()) {
      one["num_requests"] = num_answered(it->answered);
      one["num_errors"] = num_errors(it->answered);
      one["refused"] = it->refused;
      one["waiting"] = it->waiting;
      one["p50_ns"] = it->total.p50_ns;
      one["p99_ns"] = it->total.p99_ns;
    }
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json sessions(const Snapshot& now) {
  ordered_json all = ordered_json::array();
  for (const terms::SessionInfo& session : now.sessions) {
    all.push_back({{"session", static_cast<std::uint64_t>(session.id)},
                   {"client", session.client},
                   {"process", session.peer.process},
                   {"num_cores", session.num_cores},
                   {"num_models", session.num_models},
                   {"num_in_flight", session.num_in_flight}});
  }
  return all;
}

}  // namespace

std::string activity_line(const Snapshot& now, const Activity& activity, double unix_time_s) {
  const ordered_json line = {{"time_s", unix_time_s},
                             {"interval_s", activity.interval_s},
                             {"state", now.server.state},
                             {"uptime_ns", now.server.uptime_ns},
                             {"num_cores", now.server.num_cores},
                             {"num_free_cores", now.server.num_free_cores},
                             {"requests_per_s", activity.all.requests_per_s},
                             {"errors_per_s", activity.all.errors_per_s},
                             {"devices", devices(now, activity)},
                             {"groups", groups(now, activity)},
                             {"models", models(now, activity)},
                             {"sessions", sessions(now)}};
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace sluice::tool
