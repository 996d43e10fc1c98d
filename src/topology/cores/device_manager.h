// Chooses devices for a model, and waits until they are free.
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
#include "topology/cores/core_groups.h"
#include "topology/cores/wait_policy.h"

namespace sluice::topology {

/// Creates core groups in the order of the requests. A later request overtakes a waiting one only
/// if they have no eligible device in common. Callers that may compete with waiters use this, not
/// CoreGroups::create. Safe across threads.
class DeviceManager {
 public:
  /// `groups` and `clock` outlive the manager. It listens to the releases of `groups`.
  DeviceManager(CoreGroups& groups, Clock& clock);
  DeviceManager(const DeviceManager&) = delete;
  DeviceManager& operator=(const DeviceManager&) = delete;
  /// Requires: no thread is in `acquire`; close() ends their waits.
  ~DeviceManager();

  /// Reserves cores or whole devices for `request`; CoreGroups destroys the group.
  /// Fails: kInvalidArgument, kNotFound, kFailedPrecondition  as CoreAllocator::reserve, at once
  ///                                                          under every policy
  ///        kResourceExhausted  the policy is to fail; the message lists free and owned cores
  ///        kDeadlineExceeded   the cores were not free by the deadline; the same list
  ///        kCancelled          `stop` was requested
  ///        kUnavailable        the manager was closed
  Result<std::shared_ptr<const CoreGroup>> acquire(
      const terms::CoreRequest& request, const WaitPolicy& policy,
      terms::GroupOrigin origin = terms::GroupOrigin::kExplicit, const std::stop_token& stop = {});

  /// All waits end with kUnavailable, and later requests fail with it.
  void close();

  std::size_t num_waiting() const;

 private:
  struct Waiter {
    terms::CoreRequest request;
    std::vector<terms::DeviceId> candidates;
  };
  using Waiters = std::list<Waiter>;

  bool is_behind_another(Waiters::const_iterator waiter) const;
  Result<std::shared_ptr<const CoreGroup>> try_create(Waiters::const_iterator waiter,
                                                      terms::GroupOrigin origin);
  Result<std::shared_ptr<const CoreGroup>> wait_for(Waiters::const_iterator waiter,
                                                    std::int64_t deadline_ns,
                                                    terms::GroupOrigin origin,
                                                    const std::stop_token& stop,
                                                    std::unique_lock<std::mutex>& lock);
  void wake_all();

  CoreGroups& groups_;
  Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  Waiters waiters_;  ///< in the order of their requests
  bool is_closed_ = false;
};

}  // namespace sluice::topology
