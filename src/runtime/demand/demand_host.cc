#include "runtime/demand/demand_host.h"

#include <atomic>
#include <optional>
#include <utility>

#include "base/log/event_log.h"
#include "base/no_memory.h"
#include "package/package.h"
#include "runtime/model/request_name.h"
#include "runtime/packages/package_cache.h"
#include "runtime/request/joined_rows.h"

namespace sluice::runtime {

using terms::ModelHandle;
using terms::runtime_error;

/// States; only the thread that sets kChanging ends it:
///
///     kAsleep -- wake --> kChanging --> kAwake -- put_to_sleep --> kChanging --> kAsleep
struct DemandModel {
  enum class State : std::uint8_t { kAsleep, kChanging, kAwake };

  LoadRequest request;
  terms::Signature signature;
  terms::Footprint footprint;  ///< as estimated
  // Guarded by the host's mutex_.
  State state = State::kAsleep;
  bool is_removed = false;
  std::atomic<int> num_uses = 0;  ///< sinks; grows under mutex_ alone
  std::uint64_t last_use = 0;
  std::int64_t bytes = 0;  ///< reserved during the load
  ModelHandle loaded{};    ///< in the engine
};

Result<ModelHandle> DemandHost::load(const LoadRequest& request, const std::stop_token& /*stop*/) {
  auto model = std::make_shared<Model>();
  model->request = request;
  LoadRequest& load = model->request;
  load.name = name_of(load);
  if (load.group) {
    return runtime_error(RuntimeCode::kInvalid,
                         "model \"{}\": loaded on demand it has a group of its own; name no group",
                         load.name);
  }
  load.package = SLUICE_TRY(engine_.open(load));
  const auto executable = SLUICE_TRY(load.package->executable());
  load.package->keep_ready();  // as a cold function's
  model->signature = package::signature_of(executable->graph);
  if (load.batching) {
    const auto rule =
        SLUICE_TRY(join_rule(fmt::format("model \"{}\"", load.name), *executable, *load.batching));
    model->signature = rule.signature;
  }
  model->footprint = SLUICE_TRY(engine_.estimate(load));
  return ModelHandle(models_.insert(std::move(model)));
}

Result<ModelHandle> DemandHost::awake(ModelHandle handle) const {
  if (kind_of(static_cast<std::uint64_t>(handle)) != HandleKind::kOnDemand) return handle;
  const auto model = SLUICE_TRY(find(handle));
  const std::lock_guard lock(mutex_);
  if (model->state == Model::State::kAwake) return model->loaded;
  return runtime_error(RuntimeCode::kInvalidHandle,
                       "model \"{}\" is not in memory now: its next request loads it",
                       model->request.name);
}

Status DemandHost::start(ModelHandle handle) {
  SLUICE_TRY(find(handle));
  return runtime_error(RuntimeCode::kFailed,
                       "a model on demand is started and stopped by its requests");
}

Status DemandHost::stop(ModelHandle handle, std::int64_t /*drain_deadline_ns*/) {
  return start(handle);
}

Status DemandHost::unload(ModelHandle handle, std::int64_t drain_deadline_ns) {
  // First: from here on no request can wake the model again.
  const auto model = models_.remove(static_cast<std::uint64_t>(handle));
  if (model == nullptr) return unknown(handle);
  Lock lock(mutex_);
  model->is_removed = true;
  changed_.wait(lock, [&] { return model->state != Model::State::kChanging; });
  if (model->state == Model::State::kAwake) put_to_sleep(*model, lock, drain_deadline_ns);
  return ok_status();
}

terms::ModelInfo DemandHost::describe(std::uint64_t handle, const Model& model) const {
  std::optional<ModelHandle> loaded;
  {
    const std::lock_guard lock(mutex_);
    if (model.state == Model::State::kAwake) loaded = model.loaded;
  }
  terms::ModelInfo info;
  auto now =
      loaded ? engine_.info(*loaded) : Result<terms::ModelInfo>(unknown(ModelHandle(handle)));
  if (now.is_ok()) {
    info = std::move(*now);
  } else {
    info.name = model.request.name;
    info.phase = terms::ModelPhase::kUnloaded;
    info.footprint = model.footprint;
  }
  info.handle = handle;
  return info;
}

Result<ModelStatisticsSnapshot> DemandHost::statistics(ModelHandle handle) const {
  return engine_.statistics(SLUICE_TRY(awake(handle)));
}

Result<terms::Health> DemandHost::health(ModelHandle handle) const {
  return engine_.health(SLUICE_TRY(awake(handle)));
}

Result<terms::Signature> DemandHost::signature(ModelHandle handle) const {
  return SLUICE_TRY(find(handle))->signature;
}

bool DemandHost::uses(const terms::ModelInfo& other) const {
  for (const auto& [handle, model] : models_.all()) {
    const std::lock_guard lock(mutex_);
    if (model->state == Model::State::kAwake && model->loaded == ModelHandle{other.handle}) {
      return true;
    }
  }
  return false;
}

std::int64_t DemandHost::loaded_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

Result<std::shared_ptr<RequestSink>> DemandHost::sink(ModelHandle handle) const {
  const auto model = SLUICE_TRY(find(handle));
  Lock lock(mutex_);
  // Ends: every load and unload ends, with or without success, and notifies.
  changed_.wait(lock, [&] { return model->state != Model::State::kChanging; });
  if (model->is_removed) return unknown(handle);
  if (model->state == Model::State::kAwake && !is_serving(*model)) {
    model->request.package->forget_ready();  // its device may have been lost
    put_to_sleep(*model, lock);
  }
  if (model->state == Model::State::kAsleep) SLUICE_TRY(wake(*model, lock));
  const auto inner = SLUICE_TRY(engine_.sink(model->loaded));
  ++model->num_uses;
  model->last_use = ++num_uses_;
  return std::shared_ptr<RequestSink>(inner.get(),
                                      [inner, model](RequestSink*) { --model->num_uses; });
}

/// It may have been unloaded or stopped, or its device lost.
bool DemandHost::is_serving(const Model& model) const {
  const auto info = engine_.info(model.loaded);
  return info.is_ok() && info->phase == terms::ModelPhase::kStarted;
}

Status DemandHost::wake(Model& model, Lock& lock) const {
  model.state = Model::State::kChanging;  // other threads wait while the lock is released
  log_event(LogLevel::kInfo, "model.wanted name={}", in_quotes(model.request.name));
  Status status = make_room(model, lock);
  if (status.is_ok()) {
    // Reserves the estimate, so that concurrent loads do not use the same room; the load replaces
    // it by the actual size.
    model.bytes = model.footprint.total_bytes();
    used_bytes_ += model.bytes;
    const auto loaded = load_making_room(model, lock);
    status = loaded.status();
    if (loaded.is_ok()) {
      model.loaded = *loaded;
      const auto info = engine_.info(*loaded);
      used_bytes_ -= model.bytes;
      // Another call may have unloaded the model already: then it occupies nothing.
      model.bytes = info.is_ok() ? info->footprint.total_bytes() : 0;
      used_bytes_ += model.bytes;
    } else {
      used_bytes_ -= model.bytes;
    }
  }
  model.state = status.is_ok() ? Model::State::kAwake : Model::State::kAsleep;
  changed_.notify_all();
  return status;
}

/// Unloading another model may free the cores or the memory that the load lacks.
Result<ModelHandle> DemandHost::load_making_room(const Model& model, Lock& lock) const {
  while (true) {
    lock.unlock();
    // Nothing may leave here with kChanging: later uses would wait for ever.
    auto loaded = catch_no_memory([&] { return engine_.load(model.request); });
    lock.lock();
    const RuntimeCode code = terms::runtime_code_of(loaded.status());
    const bool lacks_room =
        code == RuntimeCode::kNotEnoughCores || code == RuntimeCode::kOutOfResources;
    if (!lacks_room || !evict_one(lock)) return loaded;
  }
}

Status DemandHost::make_room(const Model& model, Lock& lock) const {
  const std::int64_t bytes = model.footprint.total_bytes();
  while (used_bytes_ > budget_bytes_ - bytes) {
    if (evict_one(lock)) continue;
    return runtime_error(RuntimeCode::kOutOfResources,
                         "model \"{}\" takes {} bytes; of {} are {} in use, and nothing else may "
                         "be unloaded: load fewer with is_pinned, or raise the budget",
                         model.request.name, bytes, budget_bytes_, used_bytes_);
  }
  return ok_status();
}

bool DemandHost::evict_one(Lock& lock) const {
  std::shared_ptr<Model> victim;
  for (const auto& [handle, model] : models_.all()) {
    const bool may_go =
        model->state == Model::State::kAwake && !model->request.is_pinned && model->num_uses == 0;
    if (may_go && (victim == nullptr || model->last_use < victim->last_use)) victim = model;
  }
  if (victim != nullptr) {
    put_to_sleep(*victim, lock);
    return true;
  }
  if (num_leaving_ == 0) return false;
  const int num_leaving = num_leaving_;  // each is making room
  changed_.wait(lock, [&] { return num_leaving_ != num_leaving; });
  return true;
}

void DemandHost::put_to_sleep(Model& model, Lock& lock, std::int64_t drain_deadline_ns) const {
  model.state = Model::State::kChanging;
  ++num_leaving_;
  lock.unlock();
  log_event(LogLevel::kInfo, "model.evicted model={}", static_cast<std::uint64_t>(model.loaded));
  (void)engine_.unload(model.loaded, drain_deadline_ns);  // another call unloaded it first
  lock.lock();
  --num_leaving_;
  used_bytes_ -= model.bytes;
  model.state = Model::State::kAsleep;
  changed_.notify_all();
}

}  // namespace sluice::runtime
