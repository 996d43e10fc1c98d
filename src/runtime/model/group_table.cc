#include "runtime/model/group_table.h"

#include <set>
#include <utility>

namespace sluice::runtime {
namespace {

/// Codes of group requests: what lacks is cores.
Status group_error(const Status& status) {
  switch (status.code()) {
    case Code::kResourceExhausted:
    case Code::kFailedPrecondition: return with_runtime_code(status, RuntimeCode::kNotEnoughCores);
    case Code::kDeadlineExceeded: return with_runtime_code(status, RuntimeCode::kTimeout);
    case Code::kCancelled: return with_runtime_code(status, RuntimeCode::kCancelled);
    case Code::kUnavailable: return with_runtime_code(status, RuntimeCode::kFailed);
    default: return with_runtime_code(status, RuntimeCode::kInvalid);
  }
}

Status handle_error(const Status& status) {
  const bool is_unknown = status.code() == Code::kNotFound;
  return with_runtime_code(status, is_unknown ? RuntimeCode::kInvalidHandle : RuntimeCode::kFailed);
}

std::set<DeviceId> devices_of(const CoreGroup& group) {
  std::set<DeviceId> devices;
  for (const CoreRef& core : group.cores) devices.insert(core.device);
  return devices;
}

}  // namespace

Result<std::shared_ptr<GroupScheduler>> GroupTable::make(const CoreRequest& request,
                                                         const WaitPolicy& wait, GroupOrigin origin,
                                                         const std::stop_token& stop) {
  auto group = manager_.acquire(request, wait, origin, stop);
  if (!group.is_ok()) return group_error(group.status());
  const CoreGroupId id = (*group)->id;
  auto scheduler = std::make_shared<GroupScheduler>(std::move(*group), drivers_);
  const std::lock_guard lock(mutex_);
  schedulers_[id] = scheduler;
  return scheduler;
}

Result<CoreGroupId> GroupTable::create(const CoreRequest& request, const WaitPolicy& wait,
                                       const std::stop_token& stop) {
  return SLUICE_TRY(make(request, wait, GroupOrigin::kExplicit, stop))->group().id;
}

Status GroupTable::destroy(CoreGroupId id) {
  const Status status = groups_.destroy(id);
  if (!status.is_ok()) return handle_error(status);
  std::shared_ptr<GroupScheduler> last;  // goes, and joins its thread, after the lock
  const std::lock_guard lock(mutex_);
  const auto it = schedulers_.find(id);
  last = it->second;
  forget(it);
  return ok_status();
}

Result<std::shared_ptr<GroupScheduler>> GroupTable::enter(CoreGroupId id) {
  const Status status = groups_.add_model(id);
  if (!status.is_ok()) return handle_error(status);
  return find(id);
}

Result<std::shared_ptr<GroupScheduler>> GroupTable::enter_new(const CoreRequest& request,
                                                              const WaitPolicy& wait,
                                                              const std::stop_token& stop) {
  const std::vector<DeviceId> candidates = groups_.candidates(request);
  std::size_t first = 0;
  {
    const std::lock_guard lock(mutex_);
    first = next_device_++;
  }
  std::shared_ptr<GroupScheduler> made;
  for (std::size_t i = 0; made == nullptr && i < candidates.size(); ++i) {
    CoreRequest on_one = request;
    on_one.devices = {candidates[(first + i) % candidates.size()]};
    auto group = make(on_one, WaitPolicy::fail(), GroupOrigin::kImplicit, stop);
    if (group.is_ok()) made = std::move(*group);
  }
  if (made == nullptr) made = SLUICE_TRY(make(request, wait, GroupOrigin::kImplicit, stop));
  const Status status = groups_.add_model(made->group().id);
  if (!status.is_ok()) return handle_error(status);
  return made;
}

void GroupTable::leave(CoreGroupId id) {
  if (!groups_.remove_model(id).is_ok() || groups_.find(id).is_ok()) return;
  std::shared_ptr<GroupScheduler> last;  // as in destroy
  const std::lock_guard lock(mutex_);
  const auto it = schedulers_.find(id);
  if (it == schedulers_.end()) return;
  last = it->second;
  forget(it);
}

std::shared_ptr<GroupScheduler> GroupTable::find(CoreGroupId id) const {
  const std::lock_guard lock(mutex_);
  const auto it = schedulers_.find(id);
  return it == schedulers_.end() ? nullptr : it->second;
}

void GroupTable::forget(std::map<CoreGroupId, std::shared_ptr<GroupScheduler>>::iterator group) {
  const ModelStatisticsSnapshot done = group->second->statistics().snapshot();
  for (const DeviceId device : devices_of(group->second->group())) retired_[device].merge(done);
  schedulers_.erase(group);
}

ModelStatisticsSnapshot GroupTable::statistics_of(DeviceId device) const {
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

std::vector<std::shared_ptr<GroupScheduler>> GroupTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<GroupScheduler>> all;
  for (const auto& [id, scheduler] : schedulers_) all.push_back(scheduler);
  return all;
}

}  // namespace sluice::runtime
