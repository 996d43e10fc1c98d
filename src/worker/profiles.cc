// The part of WorkerPool that records profiles.
#include <utility>

#include "base/process/with_lock.h"
#include "worker/pool.h"

namespace sluice::worker {

using terms::CoreGroupId;

/// A worker that does not answer, or takes four profiles already, records nothing.
void WorkerPool::record(Profiling& profiling, CoreGroupId id, WorkerGroup& group,
                        const RemoteModel* model) {
  if (profiling.recordings.contains(id)) return;
  auto recording = group.start_profile(profiling.settings, model);
  if (recording.is_ok()) profiling.recordings.emplace(id, std::move(*recording));
}

void WorkerPool::record_all(CoreGroupId id, WorkerGroup& group) {
  const std::lock_guard lock(profiles_mutex_);
  for (auto& [number, profiling] : profiles_) {
    if (!profiling.settings.group && !profiling.settings.model) record(profiling, id, group);
  }
}

void WorkerPool::start_profile(std::uint64_t profile, const terms::ProfileSettings& settings) {
  const std::lock_guard lock(profiles_mutex_);
  Profiling& profiling = profiles_[profile];
  profiling.settings = settings;
  if (settings.model) {
    const auto loaded = find(*settings.model);
    if (!loaded.is_ok()) return;  // a model of the engine
    record(profiling, (*loaded)->model->info().group, *(*loaded)->group, (*loaded)->model.get());
    return;
  }
  const auto groups = with_lock(mutex_, [&] { return groups_; });
  for (const auto& [id, group] : groups) {
    if (!settings.group || *settings.group == id) record(profiling, id, *group);
  }
}

std::vector<terms::Profile> WorkerPool::stop_profile(std::uint64_t profile, bool wants_spans) {
  Profiling ended;
  {
    const std::lock_guard lock(profiles_mutex_);
    const auto it = profiles_.find(profile);
    if (it == profiles_.end()) return {};
    ended = std::move(it->second);
    profiles_.erase(it);
  }
  std::vector<terms::Profile> taken;
  for (const auto& [id, recording] : ended.recordings) {
    if (!wants_spans) {
      WorkerGroup::drop_profile(recording);
      continue;
    }
    auto part = WorkerGroup::stop_profile(recording);
    if (!part.is_ok()) continue;  // the worker died
    for (terms::ProfiledModel& model : part->models) {
      model.group = static_cast<std::uint64_t>(id.value());
    }
    taken.push_back(std::move(*part));
  }
  return taken;
}

}  // namespace sluice::worker
