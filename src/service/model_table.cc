#include "service/model_table.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "base/utf8.h"

namespace sluice::service {

void ModelTable::add(terms::ModelHandle model, ServedModel served) {
  const std::unique_lock lock(mutex_);
  by_name_.emplace(served.name, model);
  models_.insert_or_assign(model, std::move(served));
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
  std::set<std::int64_t> numbers;
  const auto [begin, end] = by_name_.equal_range(name);
  for (auto it = begin; it != end; ++it) {
    const ServedModel& served = models_.find(it->second)->second;
    if (served.owner == terms::kNobody || served.owner == session) numbers.insert(served.version);
  }
  return {numbers.begin(), numbers.end()};
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
  if (it != end) by_name_.erase(it);
}

Result<ServedModel> ModelTable::find(terms::ModelHandle model) const {
  const std::shared_lock lock(mutex_);
  const auto it = models_.find(model);
  if (it != models_.end()) return it->second;
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
                              "no model has handle {:#x}, or no longer",
                              static_cast<std::uint64_t>(model));
}

Result<NamedModel> ModelTable::find(std::string_view name, std::optional<std::int64_t> version,
                                    terms::SessionId session) const {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = by_name_.equal_range(name);
  auto found = models_.end();
  for (auto it = begin; it != end; ++it) {
    const auto candidate = models_.find(it->second);
    const ServedModel& served = candidate->second;
    if (served.owner != terms::kNobody && served.owner != session) continue;
    if (version && served.version != *version) continue;
    if (found == models_.end() || served.version >= found->second.version) found = candidate;
  }
  if (found != models_.end()) return NamedModel{found->first, found->second};
  const std::string which = version ? fmt::format(", version {}", *version) : "";
  return Status(Code::kNotFound, static_cast<std::int32_t>(RuntimeCode::kInvalidHandle),
                fmt::format("no model is called \"{}\"{}", name.substr(0, kMaxNameBytes), which));
}

}  // namespace sluice::service
