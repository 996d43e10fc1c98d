#include "topology/cores/device_manager.h"

#include <algorithm>

namespace sluice::topology {

DeviceManager::DeviceManager(CoreGroups& groups, Clock& clock) : groups_(groups), clock_(clock) {
  groups_.on_release([this] { wake_all(); });
}

DeviceManager::~DeviceManager() { groups_.on_release({}); }

void DeviceManager::wake_all() {
  { const std::lock_guard lock(mutex_); }  // a waiter that found no free cores sleeps by now
  condition_.notify_all();
}

/// An earlier waiter with an eligible device in common goes first, even if its own request cannot
/// be satisfied yet: otherwise small requests would starve a large one.
bool DeviceManager::is_behind_another(Waiters::const_iterator waiter) const {
  const auto competes = [&](const Waiter& other) {
    return std::ranges::find_first_of(other.candidates, waiter->candidates) !=
           other.candidates.end();
  };
  return std::any_of(waiters_.begin(), waiter, competes);
}

Result<std::shared_ptr<const CoreGroup>> DeviceManager::try_create(Waiters::const_iterator waiter,
                                                                   terms::GroupOrigin origin) {
  if (is_behind_another(waiter)) {
    return make_error(Code::kResourceExhausted, "{}: {} waiting for the same devices",
                      describe(waiter->request),
                      waiters_.size() == 2 ? "another is" : "others are");
  }
  return groups_.create(waiter->request, origin);
}

Result<std::shared_ptr<const CoreGroup>> DeviceManager::wait_for(
    Waiters::const_iterator waiter, std::int64_t deadline_ns, terms::GroupOrigin origin,
    const std::stop_token& stop, std::unique_lock<std::mutex>& lock) {
  while (true) {
    if (is_closed_) {
      return make_error(Code::kUnavailable, "{}: the runtime is shutting down",
                        describe(waiter->request));
    }
    if (stop.stop_requested()) {
      return make_error(Code::kCancelled, "{}: cancelled while waiting", describe(waiter->request));
    }
    // Every wake-up tries again from scratch: which waiter a release helps depends on the
    // placement.
    auto group = try_create(waiter, origin);
    if (group.is_ok() || group.status().code() != Code::kResourceExhausted) return group;
    if (deadline_ns == WaitPolicy::fail().deadline_ns) return group;
    if (clock_.now_ns() >= deadline_ns) {
      return Status(Code::kDeadlineExceeded, group.status().message());
    }
    clock_.wait_until(lock, condition_, deadline_ns);
  }
}

Result<std::shared_ptr<const CoreGroup>> DeviceManager::acquire(const terms::CoreRequest& request,
                                                                const WaitPolicy& policy,
                                                                terms::GroupOrigin origin,
                                                                const std::stop_token& stop) {
  SLUICE_TRY(groups_.check(request));
  // Before the lock: a stop that was requested already calls wake_all here, which takes the lock.
  const std::stop_callback on_stop(stop, [this] { wake_all(); });
  std::unique_lock lock(mutex_);
  const auto waiter = waiters_.insert(waiters_.end(), {request, groups_.candidates(request)});
  auto group = wait_for(waiter, policy.deadline_ns, origin, stop, lock);
  waiters_.erase(waiter);
  condition_.notify_all();  // requests behind this one may proceed
  return group;
}

void DeviceManager::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  condition_.notify_all();
}

std::size_t DeviceManager::num_waiting() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace sluice::topology
