#include "runtime/testing/engine_rules.h"

#include <algorithm>
#include <numeric>

namespace sluice::runtime::testing {

bool EngineRules::has_free_range(std::int32_t length) const {
  std::int32_t run = 0;
  std::int32_t longest = 0;
  for (const terms::CoreGroupId owner : owner_) {
    run = owner == kFree ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest >= length;
}

bool EngineRules::take(terms::CoreGroupId id, const std::vector<terms::CoreRef>& cores,
                       bool is_implicit) {
  Group group = {{}, is_implicit, {}};
  for (std::size_t i = 0; i < cores.size(); ++i) {
    // The engine promises neighbours, in order.
    if (i > 0 && cores[i].core != cores[i - 1].core + 1) return false;
    terms::CoreGroupId& owner = owner_[static_cast<std::size_t>(cores[i].core)];
    if (owner != kFree) return false;
    owner = id;
    group.cores.push_back(cores[i].core);
  }
  return groups.emplace(id, std::move(group)).second;
}

void EngineRules::release(terms::CoreGroupId id) {
  std::ranges::replace(owner_, id, kFree);
  groups.erase(id);
}

std::int32_t EngineRules::num_free() const {
  return static_cast<std::int32_t>(std::ranges::count(owner_, kFree));
}

RuntimeCode EngineRules::on_destroy(terms::CoreGroupId id) {
  const auto it = groups.find(id);
  if (it == groups.end()) return RuntimeCode::kInvalidHandle;
  // An implicit group goes with its model. Other groups stay until their models are unloaded.
  if (it->second.is_implicit || !it->second.models.empty()) return RuntimeCode::kFailed;
  release(id);
  return RuntimeCode::kOk;
}

std::optional<RuntimeCode> EngineRules::refuses_load(
    const std::vector<std::int32_t>& segments, std::optional<terms::CoreGroupId> group) const {
  // A load without a group needs a free range for all segments together. In a group the largest
  // segment must fit.
  const std::int32_t sum = std::accumulate(segments.begin(), segments.end(), 0);
  const std::int32_t most = *std::ranges::max_element(segments);
  if (!group) {
    if (has_free_range(sum)) return std::nullopt;
    return RuntimeCode::kNotEnoughCores;
  }
  const auto it = groups.find(*group);
  if (it == groups.end()) return RuntimeCode::kInvalidHandle;
  if (it->second.is_implicit) return RuntimeCode::kFailed;
  if (static_cast<std::int32_t>(it->second.cores.size()) < most)
    return RuntimeCode::kNotEnoughCores;
  return std::nullopt;
}

void EngineRules::on_loaded(terms::ModelHandle handle, terms::CoreGroupId group,
                            int max_in_flight) {
  Group& on = groups.at(group);
  on.models.insert(handle);
  models[handle] = {group,
                    // On cores of its own a model starts with the load.
                    on.is_implicit ? terms::ModelPhase::kStarted : terms::ModelPhase::kLoaded,
                    max_in_flight,
                    {}};
}

RuntimeCode EngineRules::on_start(terms::ModelHandle handle) {
  const auto it = models.find(handle);
  if (it == models.end()) return RuntimeCode::kInvalidHandle;
  // A group has one started model at a time, so a second start of the same model fails too.
  for (const terms::ModelHandle other : groups.at(it->second.group).models) {
    if (models.at(other).phase == terms::ModelPhase::kStarted) return RuntimeCode::kFailed;
  }
  it->second.phase = terms::ModelPhase::kStarted;
  return RuntimeCode::kOk;
}

RuntimeCode EngineRules::on_stop(terms::ModelHandle handle) {
  const auto it = models.find(handle);
  if (it == models.end()) return RuntimeCode::kInvalidHandle;
  if (it->second.phase != terms::ModelPhase::kStarted) return RuntimeCode::kFailed;
  cancel_all(it->second);
  it->second.phase = terms::ModelPhase::kStopped;
  return RuntimeCode::kOk;
}

RuntimeCode EngineRules::on_unload(terms::ModelHandle handle) {
  const auto it = models.find(handle);
  if (it == models.end()) return RuntimeCode::kInvalidHandle;
  cancel_all(it->second);
  const terms::CoreGroupId group = it->second.group;
  models.erase(it);
  groups.at(group).models.erase(handle);
  if (groups.at(group).is_implicit) release(group);
  return RuntimeCode::kOk;
}

RuntimeCode EngineRules::on_post(terms::ModelHandle handle) const {
  const auto it = models.find(handle);
  if (it == models.end()) return RuntimeCode::kInvalidHandle;
  if (it->second.phase != terms::ModelPhase::kStarted) return RuntimeCode::kFailed;
  const bool is_full = static_cast<int>(it->second.in_flight.size()) >= it->second.max_in_flight;
  return is_full ? RuntimeCode::kQueueFull : RuntimeCode::kOk;
}

void EngineRules::on_wait() {
  for (auto& [handle, model] : models) {
    for (const Cookie cookie : model.in_flight) cookies[cookie] = RuntimeCode::kOk;
    model.in_flight.clear();
  }
}

void EngineRules::cancel_all(Model& model) {
  for (const Cookie cookie : model.in_flight) cookies[cookie] = RuntimeCode::kCancelled;
  model.in_flight.clear();
}

}  // namespace sluice::runtime::testing
