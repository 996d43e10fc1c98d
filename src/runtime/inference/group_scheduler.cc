#include "runtime/inference/group_scheduler.h"

#include <utility>

namespace sluice::runtime {

GroupScheduler::GroupScheduler(std::shared_ptr<const CoreGroup> group, DriverSource& drivers)
    : group_(std::move(group)),
      created_ns_(drivers.clock().now_ns()),
      driver_(drivers.drive(*this, group_->cpus)) {}

GroupScheduler::~GroupScheduler() { driver_.reset(); }

Status GroupScheduler::activate(const std::shared_ptr<ModelScheduler>& model) {
  if (const auto failed = active(); failed != nullptr && failed->has_failed()) deactivate(*failed);
  const std::lock_guard lock(mutex_);
  if (active_ != nullptr) {
    return runtime_error(RuntimeCode::kFailed,
                         "core group {} is running model \"{}\"; stop that first",
                         group_->id.value(), active_->options().name);
  }
  active_ = model;
  if (has_had_one_ && last_.lock() != model) num_switches_.fetch_add(1, std::memory_order_relaxed);
  has_had_one_ = true;
  last_ = model;
  return ok_status();
}

void GroupScheduler::deactivate(const ModelScheduler& model) {
  const std::lock_guard step_lock(step_mutex_);
  const std::lock_guard lock(mutex_);
  if (active_.get() == &model) active_ = nullptr;
}

std::shared_ptr<ModelScheduler> GroupScheduler::active() const {
  const std::lock_guard lock(mutex_);
  return active_;
}

StepResult GroupScheduler::step(std::int64_t now_ns) {
  const std::lock_guard step_lock(step_mutex_);
  ModelScheduler* model = nullptr;  // deactivate waits for this step before it lets go of it
  {
    const std::lock_guard lock(mutex_);
    model = active_.get();
  }
  return model == nullptr ? StepResult{} : model->step(now_ns);
}

}  // namespace sluice::runtime
