#include "sluice/remote/watch/capacity.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "sluice/devices/device_table.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

using nlohmann::ordered_json;

/// Null for a device without figures: on a machine without a daemon, or made between two calls.
const terms::Usage* usage_of(const activity::Snapshot& now, const terms::Device& device) {
  const auto id = static_cast<std::uint64_t>(device.id.value());
  const auto found = std::ranges::find(now.statistics.devices, id, &terms::Usage::id);
  return found == now.statistics.devices.end() ? nullptr : &*found;
}

/// Nobody gets those of a device that gets no new groups.
std::int32_t free_cores(const activity::Snapshot& now, const terms::Device& device) {
  const terms::Usage* usage = usage_of(now, device);
  if (usage != nullptr && usage->is_withdrawn) return 0;
  return device.num_cores - (usage == nullptr ? 0 : usage->num_reserved_cores);
}

/// 0 where the device's memory is not known.
std::int64_t free_bytes(const activity::Snapshot& now, const terms::Device& device) {
  std::int64_t bytes = device.memory_bytes;
  if (const terms::Usage* usage = usage_of(now, device)) {
    for (const terms::MemoryItem& item : usage->memory) bytes -= item.bytes;
  }
  return std::max<std::int64_t>(0, bytes);
}

std::int64_t all_free_cores(const activity::Snapshot& now) {
  std::int64_t sum = 0;
  for (const terms::Device& device : now.server.devices) sum += free_cores(now, device);
  return sum;
}

std::size_t cores_of(const activity::Snapshot& now, terms::CoreGroupId group) {
  for (const terms::GroupEntry& entry : now.groups) {
    if (entry.info.id == group) return entry.info.cores.size();
  }
  return 0;
}

ordered_json devices(const activity::Snapshot& now) {
  ordered_json all = ordered_json::array();
  for (const terms::Device& device : now.server.devices) {
    all.push_back({{"device", device.id.value()},
                   {"kind", device.kind},
                   {"name", device.name},
                   {"num_cores", device.num_cores},
                   {"num_free_cores", free_cores(now, device)},
                   {"memory_bytes", device.memory_bytes},
                   {"free_memory_bytes", free_bytes(now, device)}});
  }
  return all;
}

ordered_json groups(const activity::Snapshot& now) {
  ordered_json all = ordered_json::array();
  for (const terms::GroupEntry& group : now.groups) {
    ordered_json cores = ordered_json::array();
    for (const terms::CoreRef& core : group.info.cores) {
      cores.push_back({{"device", core.device.value()}, {"core", core.core}});
    }
    all.push_back({{"group", group.info.id.value()},
                   {"cores", std::move(cores)},
                   {"num_models", group.info.num_models},
                   {"memory_used_bytes", group.info.memory_used_bytes},
                   {"max_memory_bytes", group.info.max_memory_bytes}});
  }
  return all;
}

ordered_json models(const activity::Snapshot& now) {
  ordered_json all = ordered_json::array();
  for (const terms::ModelEntry& model : now.models) {
    ordered_json one = {{"model", model.info.handle},
                        {"name", model.info.name},
                        {"version", model.version},
                        {"phase", terms::phase_name(model.info.phase)},
                        {"group", model.info.group.value()},
                        {"needs_cores", cores_of(now, model.info.group)},
                        {"needs_memory_bytes", model.info.footprint.total_bytes()},
                        {"depth", model.info.depth},
                        {"queue_limit", model.info.queue_limit}};
    const auto found =
        std::ranges::find(now.statistics.models, model.info.handle, &terms::ModelStatistics::model);
    if (found != now.statistics.models.end()) one["waiting"] = found->waiting;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

std::string capacity_json(const activity::Snapshot& now, bool is_from_daemon) {
  std::int64_t num_cores = 0;
  for (const terms::Device& device : now.server.devices) num_cores += device.num_cores;
  const ordered_json all = {{"source", is_from_daemon ? "daemon" : "machine"},
                            {"is_ready", is_from_daemon && now.health.is_ready},
                            {"num_cores", num_cores},
                            {"num_free_cores", all_free_cores(now)},
                            {"devices", devices(now)},
                            {"groups", groups(now)},
                            {"models", models(now)}};
  return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string capacity_text(const activity::Snapshot& now, bool is_from_daemon) {
  std::string text = is_from_daemon ? ""
                                    : "no daemon answers here: this is the machine without one; "
                                      "--address names a daemon at another address\n";
  std::vector<std::vector<std::string>> rows = {{"DEVICE", "NAME", "FREE CORES", "FREE MEMORY"}};
  for (const terms::Device& device : now.server.devices) {
    rows.push_back({std::to_string(device.id.value()), device.name,
                    fmt::format("{} of {}", free_cores(now, device), device.num_cores),
                    device.memory_bytes == 0 ? "-" : format_bytes(free_bytes(now, device))});
  }
  text += text_table(rows);
  if (now.models.empty()) return text;
  rows = {{"MODEL", "NEEDS CORES", "NEEDS MEMORY", "GROUP"}};
  for (const terms::ModelEntry& model : now.models) {
    rows.push_back({model.info.name, std::to_string(cores_of(now, model.info.group)),
                    format_bytes(model.info.footprint.total_bytes()),
                    model.graph ? "-" : std::to_string(model.info.group.value())});
  }
  return text + "\n" + text_table(rows);
}

}  // namespace sluice::tool
