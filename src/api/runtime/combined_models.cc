#include "api/runtime/combined_models.h"

#include <utility>

namespace sluice::api {

Status CombinedModel::start(const terms::RunnerOptions& options,
                            const std::optional<terms::BatchOptions>& batching) {
  std::vector<runtime::RequestSink*> sinks;
  for (const auto& replica : replicas_) {
    if (batching) SLUICE_TRY(replica->join(*batching));
    sinks.push_back(replica.get());
  }
  runner_ = SLUICE_TRY(session::ModelRunner::create(std::move(sinks), options));
  return ok_status();
}

Result<std::uint64_t> CombinedModel::submit(runtime::Request& request) {
  request.will_wait = false;  // a batch has requests of several callers
  return runner_->submit(request);
}

std::uint64_t CombinedModels::add(std::shared_ptr<CombinedModel> model) {
  const std::lock_guard lock(mutex_);
  models_.emplace(++next_, std::move(model));
  return next_;
}

Result<std::shared_ptr<CombinedModel>> CombinedModels::find(std::uint64_t model) const {
  const std::lock_guard lock(mutex_);
  const auto it = models_.find(model);
  if (it == models_.end()) return unknown_model(model);
  return it->second;
}

Result<std::shared_ptr<CombinedModel>> CombinedModels::remove(std::uint64_t model) {
  const std::lock_guard lock(mutex_);
  const auto it = models_.find(model);
  if (it == models_.end()) return unknown_model(model);
  auto found = std::move(it->second);
  models_.erase(it);
  return found;
}

std::map<std::uint64_t, std::shared_ptr<CombinedModel>> CombinedModels::all() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

}  // namespace sluice::api
