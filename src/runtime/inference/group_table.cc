#include "runtime/inference/group_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/process/with_lock.h"

namespace sluice::runtime {
namespace {

/// The runtime code of a failed group request: exhausted resources are cores.
Status group_error(const Status& status) {
  switch (status.code()) {
    case Code::kResourceExhausted:
    case Code::kFailedPrecondition:
      return terms::with_runtime_code(status, RuntimeCode::kNotEnoughCores);
    case Code::kDeadlineExceeded: return terms::with_runtime_code(status, RuntimeCode::kTimeout);
    case Code::kCancelled: return terms::with_runtime_code(status, RuntimeCode::kCancelled);
    case Code::kUnavailable: return terms::with_runtime_code(status, RuntimeCode::kFailed);
    default: return terms::with_runtime_code(status, RuntimeCode::kInvalid);
  }
}

Status handle_error(const Status& status) {
  const bool is_unknown = status.code() == Code::kNotFound;
  return terms::with_runtime_code(status,
                                  is_unknown ? RuntimeCode::kInvalidHandle : RuntimeCode::kFailed);
}

/// Groups are listed a moment before they have a scheduler, and are nobody's until then.
Status unknown_group(terms::CoreGroupId id) {
  return terms::runtime_error(RuntimeCode::kInvalidHandle, "there is no group {}", id.value());
}

std::set<terms::DeviceId> devices_of(const std::vector<terms::CoreRef>& cores) {
  std::set<terms::DeviceId> devices;
  for (const terms::CoreRef& core : cores) devices.insert(core.device);
  return devices;
}

}  // namespace

Result<std::shared_ptr<GroupScheduler>> GroupTable::make(const terms::CoreRequest& request,
                                                         const topology::WaitPolicy& wait,
                                                         terms::GroupOrigin origin, bool is_shared,
                                                         const std::stop_token& stop) {
  auto group = manager_.acquire(request, wait, origin, stop);
  // Without mutex_: acquire may wait for cores until a deadline.
  if (!group.is_ok()) return group_error(group.status());
  const terms::CoreGroupId id = (*group)->id;
  const GroupUse use = is_shared ? GroupUse::kTurns : GroupUse::kOneModel;
  auto scheduler = std::make_shared<GroupScheduler>(std::move(*group), drivers_, use);
  const std::lock_guard lock(mutex_);
  schedulers_[id] = scheduler;
  return scheduler;
}

Result<terms::CoreGroupId> GroupTable::create(const terms::CoreRequest& request,
                                              const topology::WaitPolicy& wait,
                                              const std::stop_token& stop) {
  return SLUICE_TRY(make(request, wait, terms::GroupOrigin::kExplicit, false, stop))->group().id;
}

Status GroupTable::destroy(terms::CoreGroupId id) {
  std::shared_ptr<GroupScheduler>
      last;  // destroyed after the lock is released: it joins its thread
  const std::lock_guard lock(mutex_);
  const auto it = schedulers_.find(id);
  if (it == schedulers_.end()) return unknown_group(id);
  const Status status = groups_.destroy(id);
  if (!status.is_ok()) return handle_error(status);
  last = it->second;
  forget(it);
  return ok_status();
}

Result<std::shared_ptr<GroupScheduler>> GroupTable::enter(terms::CoreGroupId id) {
  const Status status = groups_.add_model(id);
  if (!status.is_ok()) return handle_error(status);
  if (auto scheduler = find(id)) return scheduler;
  leave(id);
  return unknown_group(id);
}

/// Tries one device after the other. Null if the cores of all are in use.
Result<std::shared_ptr<GroupScheduler>> GroupTable::make_implicit(const terms::CoreRequest& request,
                                                                  bool is_shared,
                                                                  const std::stop_token& stop) {
  const std::vector<terms::DeviceId> candidates = groups_.candidates(request);
  // In turn, so that models without a wish spread over the devices.
  const std::size_t first = with_lock(mutex_, [&] { return next_device_++; });
  std::shared_ptr<GroupScheduler> made;
  for (std::size_t i = 0; made == nullptr && i < candidates.size(); ++i) {
    terms::CoreRequest on_one = request;
    on_one.devices = {candidates[(first + i) % candidates.size()]};
    auto group =
        make(on_one, topology::WaitPolicy::fail(), terms::GroupOrigin::kImplicit, is_shared, stop);
    // A device whose cores are taken is passed over; only the last resort, make() in enter_new,
    // waits.
    if (group.is_ok()) made = std::move(*group);
  }
  if (made == nullptr) return made;
  const Status status = groups_.add_model(made->group().id);
  if (!status.is_ok()) return handle_error(status);
  return made;
}

Result<std::shared_ptr<GroupScheduler>> GroupTable::enter_new(const terms::CoreRequest& request,
                                                              const topology::WaitPolicy& wait,
                                                              const std::stop_token& stop) {
  auto made = SLUICE_TRY(make_implicit(request, /*is_shared=*/false, stop));
  if (made != nullptr) return made;
  made = SLUICE_TRY(make(request, wait, terms::GroupOrigin::kImplicit, false, stop));
  const Status status = groups_.add_model(made->group().id);
  if (!status.is_ok()) return handle_error(status);
  return made;
}

Result<std::shared_ptr<GroupScheduler>> GroupTable::enter_shared(const terms::CoreRequest& request,
                                                                 std::int32_t min_cores,
                                                                 const topology::WaitPolicy& wait,
                                                                 const std::stop_token& stop) {
  auto group = SLUICE_TRY(make_implicit(request, /*is_shared=*/true, stop));
  if (group == nullptr) group = join(request, min_cores);
  return group != nullptr ? group : enter_new(request, wait, stop);
}

/// Null if there is none.
std::shared_ptr<GroupScheduler> GroupTable::join(const terms::CoreRequest& request,
                                                 std::int32_t min_cores) {
  terms::CoreRequest least = request;
  least.num_cores = min_cores;
  // Models that take turns need the cores of their largest segment, not a range with parts.
  least.parts.clear();
  const std::vector<terms::DeviceId> devices = groups_.candidates(least);
  std::vector<topology::CoreGroups::Listed> listed = groups_.list();
  std::ranges::stable_sort(listed, {}, &topology::CoreGroups::Listed::num_models);
  for (const auto& [group, num_models, cores] : listed) {
    const auto scheduler = find(group->id);
    if (scheduler == nullptr || !scheduler->is_shared()) continue;
    if (static_cast<std::int32_t>(group->cores.size()) < min_cores) continue;
    if (request.first && group->cores.front() != *request.first) continue;
    const auto is_eligible = [&](terms::DeviceId device) {
      return std::ranges::find(devices, device) != devices.end() && groups_.is_fit(device);
    };
    if (!std::ranges::all_of(runtime::devices_of(group->cores), is_eligible)) continue;
    if (groups_.share(group->id).is_ok()) return scheduler;  // else its last model just left
  }
  return nullptr;
}

Result<topology::ExtraCores> GroupTable::extend(terms::CoreGroupId id,
                                                const terms::CoreRequest& request) {
  auto cores = groups_.extend(id, request);
  if (cores.status().code() == Code::kNotFound) return handle_error(cores.status());
  if (!cores.is_ok()) return group_error(cores.status());
  const std::lock_guard lock(mutex_);
  extra_devices_[id].merge(runtime::devices_of(**cores));
  return cores;
}

std::shared_ptr<GroupScheduler> GroupTable::make_beside(const GroupScheduler& group) {
  return std::make_shared<GroupScheduler>(group.shared_group(), drivers_, GroupUse::kBesideOthers);
}

void GroupTable::leave(terms::CoreGroupId id) {
  // The group is still there: others use it, or a client created it.
  if (!groups_.remove_model(id).is_ok() || groups_.find(id).is_ok()) return;
  std::shared_ptr<GroupScheduler> last;  // as in destroy
  const std::lock_guard lock(mutex_);
  const auto it = schedulers_.find(id);
  if (it == schedulers_.end()) return;
  last = it->second;
  forget(it);
}

std::shared_ptr<GroupScheduler> GroupTable::find(terms::CoreGroupId id) const {
  const std::lock_guard lock(mutex_);
  const auto it = schedulers_.find(id);
  return it == schedulers_.end() ? nullptr : it->second;
}

/// Requires: mutex_.
std::set<terms::DeviceId> GroupTable::devices_of(const topology::CoreGroup& group) const {
  std::set<terms::DeviceId> devices = runtime::devices_of(group.cores);
  const auto extra = extra_devices_.find(group.id);
  if (extra != extra_devices_.end()) devices.insert(extra->second.begin(), extra->second.end());
  return devices;
}

void GroupTable::forget(
    std::map<terms::CoreGroupId, std::shared_ptr<GroupScheduler>>::iterator group) {
  // Counters of devices never fall, although their groups go.
  const ModelStatisticsSnapshot done = group->second->statistics().snapshot();
  for (const terms::DeviceId device : devices_of(group->second->group()))
    retired_[device].merge(done);
  extra_devices_.erase(group->first);
  schedulers_.erase(group);
}

ModelStatisticsSnapshot GroupTable::statistics_of(terms::DeviceId device) const {
  const std::lock_guard lock(mutex_);
  const auto found = retired_.find(device);
  ModelStatisticsSnapshot sum;
  if (found != retired_.end()) sum = found->second;
  for (const auto& [id, scheduler] : schedulers_) {
    if (devices_of(scheduler->group()).contains(device)) {
      sum.merge(scheduler->statistics().snapshot());
    }
  }
  return sum;
}

void GroupTable::set_condition(terms::DeviceId device, terms::DeviceCondition condition) {
  if (topology::find_device(groups_.map(), device) == nullptr) return;
  const bool has_failed = condition.health.state == terms::HealthState::kFailed;
  const std::string reason = has_failed ? condition.health.reason : "";
  with_lock(mutex_, [&] { conditions_[device] = std::move(condition); });
  // Without mutex_: waits for cores may end here.
  groups_.set_unfit(device, reason);
}

terms::DeviceCondition GroupTable::condition_of(terms::DeviceId device) const {
  const std::lock_guard lock(mutex_);
  const auto found = conditions_.find(device);
  return found == conditions_.end() ? terms::DeviceCondition() : found->second;
}

std::vector<std::shared_ptr<GroupScheduler>> GroupTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<GroupScheduler>> all;
  for (const auto& [id, scheduler] : schedulers_) all.push_back(scheduler);
  return all;
}

}  // namespace sluice::runtime
