// Picks devices by what a model needs, and waits for them if need be.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "runtime/topology/core_groups.h"

namespace sluice::runtime {

/// What to do when what is asked for exists but is taken.
struct WaitPolicy {
  /// Fail at once if below now; wait at most until then; kNoDeadline waits until it is there.
  std::int64_t deadline_ns = kNoDeadline;

  static WaitPolicy fail() { return {std::numeric_limits<std::int64_t>::min()}; }
  static WaitPolicy until(std::int64_t deadline_ns) { return {deadline_ns}; }
  static WaitPolicy wait() { return {kNoDeadline}; }
};

/// Gives out core groups in the order of asking: who comes later gets cores first only if no
/// earlier waiter could use any of the same devices. Everybody who competes with waiters asks here,
/// not CoreGroups::create. Safe across threads.
class DeviceManager {
 public:
  /// `groups` and `clock` outlive the manager. It listens to the releases of `groups`.
  DeviceManager(CoreGroups& groups, Clock& clock);
  DeviceManager(const DeviceManager&) = delete;
  DeviceManager& operator=(const DeviceManager&) = delete;
  /// Requires: nobody is inside `acquire`; close() sends them home.
  ~DeviceManager();

  /// A group of cores, or of whole devices, as `request` says; destroyed through CoreGroups.
  /// Fails: kInvalidArgument, kNotFound, kFailedPrecondition  as CoreAllocator::reserve, at once
  ///                                                          whatever the policy
  ///        kResourceExhausted  taken, and the policy is to fail: says what is free and what is not
  ///        kDeadlineExceeded   still taken at the deadline; says the same
  ///        kCancelled          `stop` was requested
  ///        kUnavailable        the manager was closed
  Result<std::shared_ptr<const CoreGroup>> acquire(const CoreRequest& request,
                                                   const WaitPolicy& policy,
                                                   GroupOrigin origin = GroupOrigin::kExplicit,
                                                   const std::stop_token& stop = {});

  /// Every waiter is answered with kUnavailable, and so is everybody who asks later.
  void close();

  std::size_t num_waiting() const;

 private:
  struct Waiter {
    CoreRequest request;
    std::vector<DeviceId> candidates;
  };
  using Waiters = std::list<Waiter>;

  bool is_behind_another(Waiters::const_iterator waiter) const;
  Result<std::shared_ptr<const CoreGroup>> try_create(Waiters::const_iterator waiter,
                                                      GroupOrigin origin);
  Result<std::shared_ptr<const CoreGroup>> wait_for(Waiters::const_iterator waiter,
                                                    std::int64_t deadline_ns, GroupOrigin origin,
                                                    const std::stop_token& stop,
                                                    std::unique_lock<std::mutex>& lock);
  void wake_all();

  CoreGroups& groups_;
  Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  Waiters waiters_;  ///< in the order of asking
  bool is_closed_ = false;
};

}  // namespace sluice::runtime
