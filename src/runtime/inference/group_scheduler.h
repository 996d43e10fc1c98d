// The scheduler of a core group: its started models and its driver.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/inference/driver.h"
#include "runtime/inference/model_scheduler.h"
#include "runtime/sharing/turns.h"
#include "runtime/statistics/group_statistics.h"
#include "topology/cores/core_groups.h"

namespace sluice::runtime {

/// The models that a scheduler steps.
enum class GroupUse : std::uint8_t {
  kOneModel,      ///< the group's; at most one is started
  kTurns,         ///< the group's; any number is started, and they take turns (Turns)
  kBesideOthers,  ///< one model, beside the group's others, on the threads that wait for it
};

/// The *active* model is the started one, or the one whose turn it is. Safe from any thread.
///
/// Lock order: `step_mutex_`, then `mutex_` or the lock of a model.
class GroupScheduler final : public Steppable {
 public:
  GroupScheduler(std::shared_ptr<const topology::CoreGroup> group, DriverSource& drivers,
                 GroupUse use = GroupUse::kOneModel);
  ~GroupScheduler() override;

  const topology::CoreGroup& group() const { return *group_; }
  const std::shared_ptr<const topology::CoreGroup>& shared_group() const { return group_; }
  bool is_shared() const { return use_ == GroupUse::kTurns; }
  Driver& driver() { return *driver_; }

  /// Starts stepping a model, in turn with others if the group is shared; else replaces an active
  /// model whose device was lost. Waits for a running step. Not from a callback of a request.
  /// Fails: kFailed; the message names the active model and the remedy.
  Status activate(const std::shared_ptr<ModelScheduler>& model);
  /// Waits for a running step; `model` is not stepped after the return. No effect on a model that
  /// is not started. Not from a callback of a request.
  void deactivate(const ModelScheduler& model);
  std::shared_ptr<ModelScheduler> active() const;
  /// Statistics of all models of the group, unloaded ones included.
  GroupStatistics& statistics() { return statistics_; }
  /// On the clock of the drivers.
  std::int64_t created_ns() const { return created_ns_; }
  /// How often another model became active than the one before.
  std::int64_t num_switches() const { return num_switches_.load(std::memory_order_relaxed); }

  StepResult step(std::int64_t now_ns) override;

 private:
  class Change;
  struct Started {
    std::shared_ptr<ModelScheduler> model;
    Turns::Id id = {};
    bool is_waiting = false;       ///< as its turns know
    ModelScheduler::Work charged;  ///< to its turns
  };

  Started* find(const ModelScheduler& model);
  void remove(const Started& started);
  void settle();
  StepResult step_in_turn(std::int64_t now_ns);
  bool update_turns(std::int64_t now_ns);
  void charge(Started& started);
  void set_active(const std::shared_ptr<ModelScheduler>& model);

  const std::shared_ptr<const topology::CoreGroup> group_;
  const GroupUse use_;
  const std::int64_t created_ns_;
  GroupStatistics statistics_;
  std::atomic<int> num_changes_ = 0;  ///< threads that wait to change started_
  std::mutex step_mutex_;             ///< held during a step; guards the next two
  std::vector<Started> started_;
  Turns turns_;
  mutable std::mutex mutex_;  ///< guards the next three
  std::shared_ptr<ModelScheduler> active_;
  std::weak_ptr<ModelScheduler> last_;
  bool has_had_one_ = false;
  std::atomic<std::int64_t> num_switches_ = 0;
  std::unique_ptr<Driver> driver_;  // last: its thread uses all of the above
};

}  // namespace sluice::runtime
