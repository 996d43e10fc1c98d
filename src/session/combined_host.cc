#include "session/combined_host.h"

namespace sluice::session {

using terms::ModelHandle;
using terms::runtime_error;

namespace {

Status unknown(ModelHandle handle) {
  return runtime_error(RuntimeCode::kInvalidHandle, "no model has handle {:#x}, or it was unloaded",
                       static_cast<std::uint64_t>(handle));
}

terms::ModelInfo info_of(std::uint64_t handle, const std::string& name, const ReplicaSet& set) {
  terms::ModelInfo info;
  info.handle = handle;
  info.name = name;
  info.phase = terms::ModelPhase::kStarted;
  info.depth = set.depth();
  return info;
}

}  // namespace

Result<std::shared_ptr<CombinedHost::Combined>> CombinedHost::find(ModelHandle handle) const {
  auto combined = combined_.find(static_cast<std::uint64_t>(handle));
  if (combined == nullptr) return unknown(handle);
  return combined;
}

Result<ModelHandle> CombinedHost::combine(std::string name, const ReplicaSet::Replicas& replicas,
                                          const terms::ReplicaOptions& options) {
  auto set = SLUICE_TRY(ReplicaSet::create(replicas, options));
  auto combined = std::make_shared<Combined>(std::move(name), std::move(set));
  return ModelHandle(combined_.insert(std::move(combined)));
}

Result<ModelHandle> CombinedHost::load(const runtime::LoadRequest& /*request*/,
                                       const std::stop_token& /*stop*/) {
  return runtime_error(RuntimeCode::kInvalid, "a package is no combined model");
}

Status CombinedHost::start(ModelHandle handle) {
  (void)SLUICE_TRY(find(handle));
  return runtime_error(RuntimeCode::kFailed,
                       "a combined model is started and stopped by its models");
}

Status CombinedHost::stop(ModelHandle handle, std::int64_t /*drain_deadline_ns*/) {
  return start(handle);
}

Status CombinedHost::reset(ModelHandle handle) { return start(handle); }

Status CombinedHost::unload(ModelHandle handle, std::int64_t /*drain_deadline_ns*/) {
  const auto removed = combined_.remove(static_cast<std::uint64_t>(handle));
  if (removed == nullptr) return unknown(handle);
  removed->second->shutdown();
  return ok_status();
}

Result<terms::ModelInfo> CombinedHost::info(ModelHandle handle) const {
  const auto combined = SLUICE_TRY(find(handle));
  return info_of(static_cast<std::uint64_t>(handle), combined->first, *combined->second);
}

std::vector<terms::ModelInfo> CombinedHost::list_models() const {
  std::vector<terms::ModelInfo> infos;
  for (const auto& [handle, combined] : combined_.all()) {
    infos.push_back(info_of(handle, combined->first, *combined->second));
  }
  return infos;
}

Result<runtime::ModelStatisticsSnapshot> CombinedHost::statistics(ModelHandle handle) const {
  SLUICE_TRY(find(handle));
  return runtime_error(RuntimeCode::kInvalidHandle,
                       "a combined model has no statistics: ask its models");
}

Result<terms::Health> CombinedHost::health(ModelHandle handle) const {
  return statistics(handle).status();
}

Result<std::shared_ptr<runtime::RequestSink>> CombinedHost::sink(ModelHandle handle) const {
  return std::shared_ptr<runtime::RequestSink>(SLUICE_TRY(find(handle))->second);
}

void CombinedHost::shutdown(std::int64_t /*drain_deadline_ns*/) {
  for (const auto& [handle, combined] : combined_.all()) combined->second->shutdown();
}

}  // namespace sluice::session
