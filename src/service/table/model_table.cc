#include "service/table/model_table.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/utf8.h"

namespace sluice::service {

void ModelTable::add(terms::ModelHandle model, ServedModel served) {
  const std::unique_lock lock(mutex_);
  const std::string name = served.name;
  by_name_.emplace(name, model);
  models_.insert_or_assign(model, std::move(served));
  if (turns_locked(name) != nullptr) set_shadows_locked(name);
}

std::optional<ServedModel> ModelTable::remove(terms::ModelHandle model) {
  const std::unique_lock lock(mutex_);
  // One of several threads gets the entry, the others nothing.
  auto node = models_.extract(model);
  if (node.empty()) return std::nullopt;
  remove_name_locked(node.mapped().name, model);
  return std::move(node.mapped());
}

std::vector<std::int64_t> ModelTable::versions(std::string_view name,
                                               terms::SessionId session) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::int64_t> numbers = versions_locked(name, session);
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::vector<std::int64_t> ModelTable::versions_locked(std::string_view name,
                                                      terms::SessionId session) const {
  std::vector<std::int64_t> numbers;
  const auto [begin, end] = by_name_.equal_range(name);
  for (auto it = begin; it != end; ++it) {
    const ServedModel& served = models_.find(it->second)->second;
    if (served.owner == terms::kNobody || served.owner == session) {
      numbers.push_back(served.version);
    }
  }
  return numbers;
}

void ModelTable::set_executable(terms::ModelHandle model,
                                std::weak_ptr<const package::Executable> executable) {
  const std::unique_lock lock(mutex_);
  const auto it = models_.find(model);
  if (it != models_.end()) it->second.executable = std::move(executable);
}

void ModelTable::remove_name(terms::ModelHandle model) {
  const std::unique_lock lock(mutex_);
  const auto it = models_.find(model);
  if (it != models_.end()) remove_name_locked(it->second.name, model);
}

void ModelTable::remove_name_locked(const std::string& name, terms::ModelHandle model) {
  const auto [begin, end] = by_name_.equal_range(name);
  const auto it =
      std::find_if(begin, end, [&](const auto& entry) { return entry.second == model; });
  if (it == end) return;
  by_name_.erase(it);
  if (turns_locked(name) != nullptr) set_shadows_locked(name);
}

Result<ServedModel> ModelTable::find(terms::ModelHandle model) const {
  const std::shared_lock lock(mutex_);
  const auto it = models_.find(model);
  if (it != models_.end()) return it->second;
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
                              "no model has handle {:#x}, or no longer",
                              static_cast<std::uint64_t>(model));
}

const dispatch::TrafficTurns* ModelTable::turns_locked(std::string_view name) const {
  const auto it = traffic_.find(name);
  return it == traffic_.end() ? nullptr : &it->second;
}

const std::pair<const terms::ModelHandle, ServedModel>* ModelTable::find_locked(
    std::string_view name, std::optional<std::int64_t> version, terms::SessionId session) const {
  const auto [begin, end] = by_name_.equal_range(name);
  const std::pair<const terms::ModelHandle, ServedModel>* found = nullptr;
  for (auto it = begin; it != end; ++it) {
    const auto& candidate = *models_.find(it->second);
    const ServedModel& served = candidate.second;
    if (served.owner != terms::kNobody && served.owner != session) continue;
    if (version && served.version != *version) continue;
    if (found == nullptr || served.version >= found->second.version) found = &candidate;
  }
  return found;
}

Result<NamedModel> ModelTable::named_locked(std::string_view name,
                                            const dispatch::VersionChoice& choice,
                                            terms::SessionId session) const {
  std::optional<std::int64_t> version = choice.number;
  bool is_known = true;
  if (!choice.label.empty()) {
    const dispatch::TrafficTurns* turns = turns_locked(name);
    is_known = turns != nullptr && turns->traffic().labels.contains(choice.label);
    if (is_known) version = turns->traffic().labels.find(choice.label)->second;
  }
  const auto* found = is_known ? find_locked(name, version, session) : nullptr;
  if (found != nullptr) return NamedModel{found->first, found->second};
  std::string which;
  if (!choice.label.empty()) {
    which = fmt::format(" version {}", valid_utf8(choice.label.substr(0, kMaxNameBytes)));
  } else if (version) {
    which = fmt::format(" version {}", *version);
  }
  const auto why = absences_.find(name);
  // Triton's words: its clients look for them.
  return Status(Code::kNotFound, static_cast<std::int32_t>(RuntimeCode::kInvalidHandle),
                fmt::format("Request for unknown model: '{}'{} is not found{}",
                            valid_utf8(name.substr(0, kMaxNameBytes)), which,
                            why == absences_.end() ? "" : "; " + why->second));
}

Result<NamedModel> ModelTable::find(std::string_view name, const dispatch::VersionChoice& choice,
                                    terms::SessionId session) const {
  const std::shared_lock lock(mutex_);
  return named_locked(name, choice, session);
}

Result<NamedModel> ModelTable::find_for_request(std::string_view name,
                                                const dispatch::VersionChoice& choice,
                                                terms::SessionId session) const {
  const std::shared_lock lock(mutex_);
  dispatch::VersionChoice turn = choice;
  const bool is_free = !choice.number && choice.label.empty();
  const dispatch::TrafficTurns* turns = is_free ? turns_locked(name) : nullptr;
  if (turns != nullptr && !turns->traffic().shares.empty()) {
    // Each share asks whether its version is there: one walk of the table answers all.
    const std::vector<std::int64_t> there = versions_locked(name, session);
    turn.number = turns->next(
        [&](std::int64_t version) { return std::ranges::find(there, version) != there.end(); });
  }
  return named_locked(name, turn, session);
}

// clang-tidy misses that try_emplace moves it.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void ModelTable::set_traffic(const std::string& name, dispatch::Traffic traffic) {
  const std::unique_lock lock(mutex_);
  traffic_.erase(name);
  if (!traffic.labels.empty() || !traffic.shares.empty() || traffic.shadow) {
    traffic_.try_emplace(name, std::move(traffic));
  }
  set_shadows_locked(name);
}

void ModelTable::set_absence(const std::string& name, std::string why) {
  const std::unique_lock lock(mutex_);
  if (why.empty()) {
    absences_.erase(name);
  } else {
    absences_.insert_or_assign(name, std::move(why));
  }
}

/// A model that takes other requests cannot take copies.
void ModelTable::set_shadows_locked(const std::string& name) const {
  const dispatch::TrafficTurns* turns = turns_locked(name);
  const auto shadow = turns == nullptr ? std::nullopt : turns->traffic().shadow;
  const auto* found = shadow ? find_locked(name, shadow, terms::kNobody) : nullptr;
  const auto [begin, end] = by_name_.equal_range(name);
  for (auto it = begin; it != end; ++it) {
    const ServedModel& served = models_.find(it->second)->second;
    if (served.owner != terms::kNobody || served.ref == nullptr) continue;
    const bool has_copies = found != nullptr && served.version != *shadow &&
                            served.ref->takes_the_same(*found->second.ref);
    served.ref->set_shadow(has_copies ? found->second.ref : nullptr);
  }
}

}  // namespace sluice::service
