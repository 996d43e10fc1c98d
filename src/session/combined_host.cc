#include "session/combined_host.h"

namespace sluice::session {

using terms::ModelHandle;
using terms::runtime_error;

terms::ModelInfo CombinedHost::describe(std::uint64_t handle, const CombinedModel& combined) const {
  terms::ModelInfo info;
  info.handle = handle;
  info.name = combined.name;
  info.phase = terms::ModelPhase::kStarted;
  info.depth = combined.set->depth();
  return info;
}

Result<ModelHandle> CombinedHost::combine(std::string name, const ReplicaSet::Replicas& replicas,
                                          const terms::ReplicaOptions& options) {
  auto set = SLUICE_TRY(ReplicaSet::create(replicas, options));
  return ModelHandle(models_.insert(
      std::make_shared<CombinedModel>(CombinedModel{std::move(name), std::move(set)})));
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

Status CombinedHost::unload(ModelHandle handle, std::int64_t /*drain_deadline_ns*/) {
  const auto removed = models_.remove(static_cast<std::uint64_t>(handle));
  if (removed == nullptr) return unknown(handle);
  removed->set->shutdown();
  return ok_status();
}

Result<runtime::ModelStatisticsSnapshot> CombinedHost::statistics(ModelHandle handle) const {
  SLUICE_TRY(find(handle));
  return runtime_error(RuntimeCode::kInvalidHandle,
                       "a combined model has no statistics: ask its models");
}

Result<std::shared_ptr<runtime::RequestSink>> CombinedHost::sink(ModelHandle handle) const {
  return std::shared_ptr<runtime::RequestSink>(SLUICE_TRY(find(handle))->set);
}

void CombinedHost::shutdown(std::int64_t /*drain_deadline_ns*/) {
  for (const auto& [handle, combined] : models_.all()) combined->set->shutdown();
}

}  // namespace sluice::session
