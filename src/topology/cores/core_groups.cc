#include "topology/cores/core_groups.h"

#include <algorithm>
#include <numeric>

#include "base/process/with_lock.h"
#include "base/text/plural.h"
#include "topology/cores/plugin_cores.h"

namespace sluice::topology {
namespace {

std::int32_t host_cores(const DeviceMap& map, const std::vector<terms::CoreRef>& cores) {
  return static_cast<std::int32_t>(std::ranges::count_if(cores, [&](const terms::CoreRef& core) {
    return find_device(map, core.device)->kind == terms::kCpuKind;
  }));
}

void append(std::vector<terms::CoreRef>& cores, const std::vector<terms::CoreRef>& more) {
  cores.insert(cores.end(), more.begin(), more.end());
}

std::int64_t total_bytes(const std::vector<MemoryShare>& shares) {
  // Shares are empty where the map does not know the memory of the devices.
  if (shares.empty()) return MemoryBudget::kUnlimited;
  return std::accumulate(
      shares.begin(), shares.end(), std::int64_t{0},
      [](std::int64_t sum, const MemoryShare& share) { return sum + share.bytes; });
}

}  // namespace

CoreGroups::CoreGroups(DeviceMap map) : map_(std::move(map)), allocator_(map_) {}

Result<std::shared_ptr<const CoreGroup>> CoreGroups::create(const terms::CoreRequest& request,
                                                            terms::GroupOrigin origin) {
  const std::lock_guard lock(mutex_);
  const terms::CoreGroupId id(next_id_);
  Reservation reservation = SLUICE_TRY(allocator_.reserve(id, request));
  // A refused reservation uses up no handle; a handle is never given twice, so a stale one cannot
  // name another group.
  ++next_id_;
  auto group = std::make_shared<CoreGroup>();
  group->id = id;
  group->origin = origin;
  group->cpus = cpus_of(map_, reservation.cores);
  group->num_threads = host_cores(map_, reservation.cores);
  group->budget = std::make_unique<MemoryBudget>(fmt::format("core group {}", id.value()),
                                                 total_bytes(reservation.memory));
  group->cores = std::move(reservation.cores);
  entries_[id].group = group;
  return std::shared_ptr<const CoreGroup>(std::move(group));
}

Result<const CoreGroups::Entry*> CoreGroups::entry(terms::CoreGroupId id) const {
  const auto it = entries_.find(id);
  if (it != entries_.end()) return &it->second;
  const bool was_one = id.value() > 0 && id.value() < next_id_;
  return make_error(Code::kNotFound, "no core group {}; {}", id.value(),
                    was_one ? "it was destroyed" : "no group ever had this handle");
}

void CoreGroups::erase(terms::CoreGroupId id) {
  allocator_.release(id);
  entries_.erase(id);
}

Status CoreGroups::destroy(terms::CoreGroupId id) {
  {
    const std::lock_guard lock(mutex_);
    const Entry& found = *SLUICE_TRY(entry(id));
    if (found.num_models > 0) {
      return make_error(Code::kFailedPrecondition, "core group {} has {} on it; unload {} first",
                        id.value(), counted(found.num_models, "model"),
                        found.num_models == 1 ? "it" : "them");
    }
    erase(id);
  }
  // Without mutex_: the listener may call back into this object, to reserve the cores that are free
  // now.
  tell_listener();
  return ok_status();
}

Result<std::shared_ptr<const CoreGroup>> CoreGroups::find(terms::CoreGroupId id) const {
  const std::lock_guard lock(mutex_);
  return SLUICE_TRY(entry(id))->group;
}

Result<ExtraCores> CoreGroups::extend(terms::CoreGroupId id, const terms::CoreRequest& request) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(entry(id));
  std::vector<Extra>& extras = entries_[id].extras;
  auto extra = std::ranges::find_if(extras, [&](const Extra& one) {
    return one.devices == request.devices && one.parts == request.parts;
  });
  if (extra == extras.end()) {
    Reservation reservation = SLUICE_TRY(allocator_.reserve(id, request));
    extras.push_back({request.devices, request.parts, std::move(reservation.cores)});
    extra = extras.end() - 1;
  }
  ++extra->num_holders;
  return ExtraCores(new std::vector<terms::CoreRef>(extra->cores),
                    [this, id](const std::vector<terms::CoreRef>* held) {
                      const std::unique_ptr<const std::vector<terms::CoreRef>> cores(held);
                      give_back(id, *cores);
                    });
}

void CoreGroups::give_back(terms::CoreGroupId id, const std::vector<terms::CoreRef>& cores) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;  // destroyed, and its cores were freed then
    std::vector<Extra>& extras = found->second.extras;
    const auto extra = std::ranges::find(extras, cores, &Extra::cores);
    if (extra == extras.end() || --extra->num_holders > 0) return;
    allocator_.release(id, cores);
    extras.erase(extra);
  }
  tell_listener();
}

std::vector<terms::CoreRef> CoreGroups::cores_of(const CoreGroup& group) const {
  std::vector<terms::CoreRef> cores = group.cores;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(group.id);
  if (found == entries_.end()) return cores;
  for (const Extra& extra : found->second.extras) append(cores, extra.cores);
  return cores;
}

Status CoreGroups::add_model(terms::CoreGroupId id) {
  const std::lock_guard lock(mutex_);
  const Entry& found = *SLUICE_TRY(entry(id));
  if (found.group->origin == terms::GroupOrigin::kImplicit && found.num_models > 0) {
    return make_error(Code::kFailedPrecondition,
                      "core group {} belongs to the model whose load made it; create a group to "
                      "load several models on",
                      id.value());
  }
  // The entry exists: entry(id) succeeded under the same lock.
  ++entries_[id].num_models;
  return ok_status();
}

Status CoreGroups::share(terms::CoreGroupId id) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(entry(id));
  ++entries_[id].num_models;
  return ok_status();
}

Status CoreGroups::remove_model(terms::CoreGroupId id) {
  {
    const std::lock_guard lock(mutex_);
    const Entry& found = *SLUICE_TRY(entry(id));
    if (found.num_models == 0) {
      return make_error(Code::kFailedPrecondition, "core group {} has no model on it", id.value());
    }
    --entries_[id].num_models;
    // `found` is the entry itself, so num_models is the count after the decrement.
    if (found.group->origin == terms::GroupOrigin::kExplicit || found.num_models > 0)
      return ok_status();
    erase(id);
  }
  tell_listener();
  return ok_status();
}

std::vector<CoreGroups::Listed> CoreGroups::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Listed> groups;
  for (const auto& [id, found] : entries_) {
    groups.push_back({found.group, found.num_models, found.group->cores});
    for (const Extra& extra : found.extras) append(groups.back().cores, extra.cores);
  }
  return groups;
}

std::int32_t CoreGroups::num_free_cores() const {
  const std::lock_guard lock(mutex_);
  return allocator_.num_free();
}

Status CoreGroups::check(const terms::CoreRequest& request) const {
  const std::lock_guard lock(mutex_);
  return allocator_.check(request);
}

std::vector<terms::DeviceId> CoreGroups::candidates(const terms::CoreRequest& request) const {
  const std::lock_guard lock(mutex_);
  return allocator_.candidates(request);
}

void CoreGroups::set_unfit(terms::DeviceId device, const std::string& reason) {
  const bool was_unfit = with_lock(mutex_, [&] {
    const bool is_unfit = !allocator_.is_fit(device);
    allocator_.set_unfit(device, reason);
    return is_unfit;
  });
  // Each look at the sensors says that the device is fit; only the first gives anybody cores.
  if (was_unfit && reason.empty()) tell_listener();
}

bool CoreGroups::is_fit(terms::DeviceId device) const {
  const std::lock_guard lock(mutex_);
  return allocator_.is_fit(device);
}

void CoreGroups::on_release(std::function<void()> listener) {
  const std::lock_guard lock(listener_mutex_);
  listener_ = std::move(listener);
}

void CoreGroups::tell_listener() {
  const std::lock_guard lock(listener_mutex_);
  // Held during the call: on_release does not return while the former listener runs.
  if (listener_) listener_();
}

}  // namespace sluice::topology
