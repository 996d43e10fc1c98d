#include "runtime/model/model.h"

#include <utility>

#include "base/process/with_lock.h"
#include "runtime/pipeline/pipeline.h"

namespace sluice::runtime {

terms::ModelPhase Model::phase() const {
  const std::lock_guard lock(mutex_);
  return phase_locked();
}

terms::ModelPhase Model::phase_locked() const {
  // Derived, not stored: a device is lost during a step, whose thread may not take change_mutex_.
  const bool has_failed = phase_ == terms::ModelPhase::kStarted && parts_.scheduler->has_failed();
  return has_failed ? terms::ModelPhase::kFailed : phase_;
}

terms::ModelInfo Model::info() const {
  terms::ModelInfo info = parts_.info;
  info.phase = phase();
  return info;
}

Result<terms::ModelPhase> Model::check(ModelAction action) const {
  return next_phase(phase(), action).with_context(fmt::format("model \"{}\"", parts_.info.name));
}

Status Model::start() {
  const std::lock_guard change(change_mutex_);
  const terms::ModelPhase next = SLUICE_TRY(check(ModelAction::kStart));
  SLUICE_TRY(parts_.stepper->activate(parts_.scheduler));
  with_lock(mutex_, [&] { phase_ = next; });
  // Last: the driver must know the model before the first request is accepted.
  parts_.scheduler->statistics().count_start();
  parts_.scheduler->accept();
  return ok_status();
}

Status Model::stop(std::int64_t drain_deadline_ns, std::int64_t hang_deadline_ns) {
  const std::lock_guard change(change_mutex_);
  SLUICE_TRY(check(ModelAction::kStop));
  const bool is_drained = drain(drain_deadline_ns, hang_deadline_ns);
  const std::lock_guard lock(mutex_);
  phase_ = is_drained ? terms::ModelPhase::kStopped : terms::ModelPhase::kFailed;
  if (is_drained) return ok_status();
  return terms::runtime_error(RuntimeCode::kDeviceError,
                              "model \"{}\": its device did not finish; the model has failed",
                              parts_.info.name);
}

bool Model::drain(std::int64_t drain_deadline_ns, std::int64_t hang_deadline_ns) {
  // Three attempts, each harder: let requests finish, cancel them, declare the device lost.
  ModelScheduler& scheduler = *parts_.scheduler;
  const auto is_idle = [&] { return scheduler.is_idle(); };
  const std::string& name = parts_.info.name;
  scheduler.refuse(
      terms::runtime_error(RuntimeCode::kFailed, "model \"{}\" is stopped; start it first", name));
  const bool may_drain = drain_deadline_ns > scheduler.clock().now_ns();
  // An idle model has nothing to cancel, and its driver's thread sleeps on: functions that take
  // turns in a cell are stopped so each time.
  const bool is_drained = is_idle() || (may_drain && scheduler.wait(is_idle, drain_deadline_ns));
  if (!is_drained) {
    scheduler.cancel_all(fmt::format("model \"{}\": cancelled, the model is being stopped", name));
    if (!scheduler.wait(is_idle, hang_deadline_ns)) {
      scheduler.give_up(terms::runtime_error(RuntimeCode::kDeviceError,
                                             "model \"{}\": its device does not finish", name));
      scheduler.wait(is_idle, kNoDeadline);
    }
  }
  parts_.stepper->deactivate(scheduler);
  return !scheduler.has_failed();
}

Status Model::reset() {
  const std::lock_guard change(change_mutex_);
  const terms::ModelPhase next = SLUICE_TRY(check(ModelAction::kReset));
  parts_.stepper->deactivate(*parts_.scheduler);
  auto pipeline = SLUICE_TRY(Pipeline::create(*parts_.placement, parts_.info.num_slots,
                                              *parts_.devices, parts_.info.name));
  parts_.scheduler->replace(std::make_unique<Pipeline>(std::move(pipeline)));
  parts_.scheduler->refuse(terms::runtime_error(
      RuntimeCode::kFailed, "model \"{}\" is stopped; start it first", parts_.info.name));
  const std::lock_guard lock(mutex_);
  phase_ = next;
  return ok_status();
}

void Model::unload(std::int64_t drain_deadline_ns, std::int64_t hang_deadline_ns) {
  const std::lock_guard change(change_mutex_);
  if (!check(ModelAction::kUnload).is_ok()) return;
  drain(drain_deadline_ns, hang_deadline_ns);
  // The scheduler itself lives on while clients hold it as a sink; it refuses their requests.
  parts_.scheduler->refuse(terms::runtime_error(RuntimeCode::kInvalidHandle,
                                                "model \"{}\" is unloaded", parts_.info.name));
  parts_.group->statistics().retire(parts_.scheduler->statistics());
  parts_.scheduler->replace(nullptr);
  parts_.placement = nullptr;
  parts_.extra_cores.clear();  // now that no kernel is on them
  parts_.package = nullptr;
  parts_.shared_memory = nullptr;
  parts_.memory = {};
  const std::lock_guard lock(mutex_);
  phase_ = terms::ModelPhase::kUnloaded;
}

}  // namespace sluice::runtime
