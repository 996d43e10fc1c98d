#include "service/model_table.h"

#include <mutex>
#include <utility>

namespace sluice::service {

void ModelTable::add(terms::ModelHandle model, ServedModel served) {
  const std::unique_lock lock(mutex_);
  models_.insert_or_assign(model, std::move(served));
}

std::optional<ServedModel> ModelTable::remove(terms::ModelHandle model) {
  const std::unique_lock lock(mutex_);
  // One of several threads gets the entry, the others nothing.
  auto node = models_.extract(model);
  if (node.empty()) return std::nullopt;
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

}  // namespace sluice::service
