#include "service/model_table.h"

#include <algorithm>
#include <mutex>
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
  const auto [begin, end] = by_name_.equal_range(node.mapped().name);
  by_name_.erase(
      std::find_if(begin, end, [&](const auto& entry) { return entry.second == model; }));
  return std::move(node.mapped());
}

Result<ServedModel> ModelTable::find(terms::ModelHandle model) const {
  const std::shared_lock lock(mutex_);
  const auto it = models_.find(model);
  if (it != models_.end()) return it->second;
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
                              "no model has handle {:#x}, or no longer",
                              static_cast<std::uint64_t>(model));
}

Result<terms::ModelHandle> ModelTable::find(std::string_view name, terms::SessionId session) const {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = by_name_.equal_range(name);
  for (auto it = end; it != begin;) {
    const terms::ModelHandle model = (--it)->second;
    const terms::SessionId owner = models_.find(model)->second.owner;
    if (owner == terms::kNobody || owner == session) return model;
  }
  return Status(Code::kNotFound, static_cast<std::int32_t>(RuntimeCode::kInvalidHandle),
                fmt::format("no model is called \"{}\"", name.substr(0, kMaxNameBytes)));
}

}  // namespace sluice::service
