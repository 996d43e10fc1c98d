// A core group at work: which model is active, who drives it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/inference/driver.h"
#include "runtime/inference/model_scheduler.h"
#include "runtime/statistics/group_statistics.h"
#include "runtime/topology/core_groups.h"

namespace sluice::runtime {

/// At most one model of a group runs. Safe from any thread.
class GroupScheduler final : public Steppable {
 public:
  GroupScheduler(std::shared_ptr<const CoreGroup> group, DriverSource& drivers);
  ~GroupScheduler() override;

  const CoreGroup& group() const { return *group_; }
  Driver& driver() { return *driver_; }

  /// One whose device was lost gives way. Not from a callback of a request.
  /// Fails: kFailed naming the model that is active and what to do.
  Status activate(const std::shared_ptr<ModelScheduler>& model);
  /// Nobody steps `model` any more when this returns; nothing happens unless it is the active one.
  /// Not from a callback of a request.
  void deactivate(const ModelScheduler& model);
  std::shared_ptr<ModelScheduler> active() const;
  /// Of the models that are and were loaded on the group.
  GroupStatistics& statistics() { return statistics_; }
  /// On the drivers' clock.
  std::int64_t created_ns() const { return created_ns_; }
  /// How often another model than the last one was made active.
  std::int64_t num_switches() const { return num_switches_.load(std::memory_order_relaxed); }

  StepResult step(std::int64_t now_ns) override;

 private:
  std::shared_ptr<const CoreGroup> group_;
  const std::int64_t created_ns_;
  GroupStatistics statistics_;
  std::mutex step_mutex_;     ///< held during a step
  mutable std::mutex mutex_;  ///< guards what follows
  std::shared_ptr<ModelScheduler> active_;
  std::weak_ptr<ModelScheduler> last_;
  bool has_had_one_ = false;
  std::atomic<std::int64_t> num_switches_ = 0;
  std::unique_ptr<Driver> driver_;  // last: its thread uses all of the above
};

}  // namespace sluice::runtime
