#include "runtime/inference/group_scheduler.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace sluice::runtime {

GroupScheduler::GroupScheduler(std::shared_ptr<const topology::CoreGroup> group,
                               DriverSource& drivers, GroupUse use)
    : group_(std::move(group)),
      use_(use),
      created_ns_(drivers.clock().now_ns()),
      turns_(TurnOptions{}),
      driver_(use == GroupUse::kBesideOthers ? drivers.drive_by_callers(*this)
                                             : drivers.drive(*this, group_->cpus)) {}

GroupScheduler::~GroupScheduler() { driver_.reset(); }

/// Goes before the next step: a thread that steps without pause would take the mutex again before
/// another one wakes up.
class GroupScheduler::Change {
 public:
  explicit Change(GroupScheduler& group) : group_(group) {
    group_.num_changes_.fetch_add(1);
    group_.step_mutex_.lock();
    group_.num_changes_.fetch_sub(1);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() { group_.step_mutex_.unlock(); }

 private:
  GroupScheduler& group_;
};

Status GroupScheduler::activate(const std::shared_ptr<ModelScheduler>& model) {
  const Change change(*this);
  if (!is_shared()) {
    // A lost device leaves its model started; it answers with its failure and gives way.
    while (!started_.empty() && started_.front().model->has_failed()) remove(started_.front());
    if (!started_.empty()) {
      return terms::runtime_error(RuntimeCode::kFailed,
                                  "core group {} is running model \"{}\"; stop that first",
                                  group_->id.value(), started_.front().model->options().name);
    }
  }
  if (started_.size() == 1) started_.front().charged = started_.front().model->work();
  started_.push_back({model, turns_.add(model->options().weight), false, model->work()});
  settle();
  return ok_status();
}

void GroupScheduler::deactivate(const ModelScheduler& model) {
  std::shared_ptr<ModelScheduler> last;  // destroyed after the locks are released
  const Change change(*this);
  const Started* started = find(model);
  if (started == nullptr) return;
  last = started->model;
  remove(*started);
  settle();
}

void GroupScheduler::remove(const Started& started) {
  {
    const std::lock_guard lock(mutex_);
    if (active_ == started.model) active_ = nullptr;
  }
  turns_.remove(started.id);
  started_.erase(started_.begin() + (&started - started_.data()));
}

/// The only started model is active without taking turns.
void GroupScheduler::settle() {
  if (started_.size() != 1) return;
  turns_.give(started_.front().id);
  set_active(started_.front().model);
}

GroupScheduler::Started* GroupScheduler::find(const ModelScheduler& model) {
  const auto it =
      std::ranges::find_if(started_, [&](const Started& one) { return one.model.get() == &model; });
  return it == started_.end() ? nullptr : &*it;
}

std::shared_ptr<ModelScheduler> GroupScheduler::active() const {
  const std::lock_guard lock(mutex_);
  return active_;
}

void GroupScheduler::set_active(const std::shared_ptr<ModelScheduler>& model) {
  const std::lock_guard lock(mutex_);
  active_ = model;
  if (has_had_one_ && last_.lock() != model) num_switches_.fetch_add(1, std::memory_order_relaxed);
  has_had_one_ = true;
  last_ = model;
}

StepResult GroupScheduler::step(std::int64_t now_ns) {
  while (num_changes_.load() > 0) std::this_thread::yield();
  const std::lock_guard step_lock(step_mutex_);
  if (started_.empty()) return {};
  return started_.size() > 1 ? step_in_turn(now_ns) : started_.front().model->step(now_ns);
}

/// Steps every model that has requests: those without the turn answer cancelled and expired ones.
StepResult GroupScheduler::step_in_turn(std::int64_t now_ns) {
  StepResult all;
  all.has_moved = update_turns(now_ns);
  for (Started& one : started_) {
    if (one.model->is_idle()) continue;
    const bool is_holder = turns_.holder() == one.id;
    const StepResult result = one.model->step(now_ns, is_holder && turns_.may_start());
    if (is_holder) charge(one);
    all.has_moved |= result.has_moved;
    all.is_running |= result.is_running;
    all.next_deadline_ns = std::min(all.next_deadline_ns, result.next_deadline_ns);
    all.longest_stage_ns = std::max(all.longest_stage_ns, result.longest_stage_ns);
  }
  return all;
}

/// Whether the turn passed.
bool GroupScheduler::update_turns(std::int64_t now_ns) {
  bool is_occupied = false;
  for (Started& one : started_) {
    const bool is_idle = one.model->is_idle();
    const bool is_waiting = !is_idle && one.model->has_waiting();
    if (is_waiting != one.is_waiting) turns_.set_waiting(one.id, is_waiting);
    one.is_waiting = is_waiting;
    if (turns_.holder() == one.id) is_occupied = !is_idle && one.model->is_occupied();
  }
  if (!turns_.update(now_ns, is_occupied)) return false;
  for (const Started& one : started_) {
    if (turns_.holder() == one.id) set_active(one.model);
  }
  return true;
}

void GroupScheduler::charge(Started& started) {
  const ModelScheduler::Work& work = started.model->work();
  const std::int64_t num_requests = work.num_requests - started.charged.num_requests;
  if (num_requests == 0) return;
  turns_.charge(work.compute_ns - started.charged.compute_ns, num_requests);
  started.charged = work;
}

}  // namespace sluice::runtime
