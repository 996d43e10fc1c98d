// Reports of groups and devices.
#include <algorithm>
#include <map>
#include <utility>

#include "runtime/engine.h"
#include "runtime/model/loader.h"
#include "runtime/statistics/group_statistics.h"
#include "runtime/statistics/health.h"

namespace sluice::runtime {

namespace {

using Items = std::vector<terms::MemoryItem>;

std::int64_t busy_on(const ModelStatisticsSnapshot& requests, terms::DeviceId device) {
  const auto found = requests.core_busy_ns.find(device);
  return found == requests.core_busy_ns.end() ? 0 : found->second;
}

std::int32_t cores_on(const std::vector<terms::CoreRef>& cores, terms::DeviceId device) {
  return static_cast<std::int32_t>(std::ranges::count(cores, device, &terms::CoreRef::device));
}

void sort_items(Items& items) {
  std::ranges::stable_sort(items, std::greater(), &terms::MemoryItem::bytes);
}

/// Allocated bytes of an own-memory device.
Items allocated(const device::MemoryUsage& usage) {
  Items items;
  for (std::size_t i = 0; i < device::kNumMemoryCategories; ++i) {
    const auto category = static_cast<device::MemoryCategory>(i);
    const std::int64_t bytes = usage.bytes_of(category);
    if (bytes > 0) items.push_back({std::string(device::memory_category_name(category)), bytes});
  }
  sort_items(items);
  return items;
}

terms::DevicePools pools_of(const device::DeviceServices& device,
                            const device::DeviceServiceTable& table) {
  const device::StreamUsage streams = device.streams->usage();
  const device::MemoryUsage memory = device.memory.usage();
  terms::DevicePools pools;
  pools.streams_in_use = streams.num_in_use();
  pools.streams_unused = streams.unused;
  pools.streams_draining = streams.draining;
  pools.streams_made = streams.made;
  pools.streams_drained = streams.drained;
  pools.reserved_bytes = memory.held.bytes;
  pools.used_bytes = memory.used.bytes;
  pools.idle_bytes = memory.idle_bytes;
  pools.grown_bytes = memory.grown_bytes;
  pools.shrunk_bytes = memory.shrunk_bytes;
  for (device::LeftBehind& left : table.left_on(device)) {
    pools.left.push_back({std::move(left.client), left.memory_bytes, left.num_streams});
  }
  return pools;
}

/// Bytes that models of these groups reserved.
Items reserved(const std::vector<std::shared_ptr<GroupScheduler>>& groups) {
  std::map<std::string, std::int64_t> bytes_of;
  for (const auto& group : groups) {
    for (const auto& item : group->group().budget->items()) bytes_of[item.category] += item.bytes;
  }
  Items items;
  for (const auto& [category, bytes] : bytes_of) items.push_back({category, bytes});
  sort_items(items);
  return items;
}

}  // namespace

/// Whether a model lost its device: the active one of the group, or one that runs beside others.
bool Engine::has_failed(const GroupScheduler& group) const {
  const auto active = group.active();
  if (active != nullptr && active->has_failed()) return true;
  const auto models = models_.all();
  return std::ranges::any_of(models, [&](const auto& entry) {
    const Model& model = *entry.second;
    return model.group().get() == &group && model.runs_beside_others() &&
           model.scheduler()->has_failed();
  });
}

std::int64_t Engine::overdue_ns() const {
  std::int64_t longest_ns = 0;
  for (const auto& [handle, model] : models_.all()) {
    longest_ns = std::max(longest_ns, model->scheduler()->overdue_ns());
  }
  return longest_ns;
}

Result<GroupReport> Engine::report(terms::CoreGroupId id) const {
  const auto group = groups_->find(id);
  if (group == nullptr) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle,
                                "no core group {}, or it was destroyed", id.value());
  }
  const topology::MemoryBudget& budget = *group->group().budget;
  GroupReport report;
  report.id = id;
  report.requests = group->statistics().snapshot();
  report.num_cores =
      static_cast<std::int32_t>(groups_->core_groups().cores_of(group->group()).size());
  report.age_ns = clock_.now_ns() - group->created_ns();
  for (const auto& [device, busy_ns] : report.requests.core_busy_ns) report.core_busy_ns += busy_ns;
  report.memory = budget.items();
  report.memory_peak_bytes = budget.peak_bytes();
  report.max_memory_bytes = budget.limit_bytes();
  report.num_switches = group->num_switches();
  report.health = health_of(report.requests, has_failed(*group));
  return report;
}

std::vector<DeviceReport> Engine::report_devices() const {
  std::vector<DeviceReport> reports;
  for (const terms::Device& device : groups_->map().devices) reports.push_back(report(device));
  return reports;
}

DeviceReport Engine::report(const terms::Device& device) const {
  DeviceReport report;
  report.id = device.id;
  report.requests = groups_->statistics_of(device.id);
  report.num_cores = device.num_cores;
  report.age_ns = clock_.now_ns() - created_ns_;
  report.core_busy_ns = busy_on(report.requests, device.id);
  std::vector<std::shared_ptr<GroupScheduler>> here;
  bool is_failed = false;
  for (const auto& group : groups_->all()) {
    const std::int32_t num_cores =
        cores_on(groups_->core_groups().cores_of(group->group()), device.id);
    if (num_cores == 0) continue;
    ++report.num_groups;
    report.num_reserved_cores += num_cores;
    is_failed |= has_failed(*group);
    // The memory of a group on several devices counts for the device of its first core.
    if (group->group().cores.front().device == device.id) here.push_back(group);
  }
  const auto services = loader_->devices().find(device.backend, device.backend_index);
  report.memory = services != nullptr ? allocated(services->memory.usage()) : reserved(here);
  if (services != nullptr) report.pools = pools_of(*services, loader_->devices());
  terms::DeviceCondition condition = groups_->condition_of(device.id);
  report.sensors = std::move(condition.sensors);
  report.is_placeable = condition.health.state != terms::HealthState::kFailed;
  report.health = worse(health_of(report.requests, is_failed), std::move(condition.health));
  return report;
}

}  // namespace sluice::runtime
