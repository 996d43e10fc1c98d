#include "api/runtime/demand_models.h"

#include <utility>

#include "api/runtime/runtime.h"
#include "package/package.h"

namespace sluice::api {
Result<std::uint64_t> DemandModels::add(runtime::Engine& engine, runtime::LoadRequest request,
                                        bool is_pinned) {
  // Read before the first request, so that a damaged file fails here and the signature is known.
  if (request.executable == nullptr) {
    request.executable = std::make_shared<const package::Executable>(
        SLUICE_TRY(package::read_package(request.path)));
  }
  Entry entry;
  entry.name = request.name.empty() ? request.path.stem().string() : request.name;
  entry.signature = package::signature_of(request.executable->graph);
  if (request.batching) {
    entry.signature = SLUICE_TRY(runtime::join_rule(fmt::format("model \"{}\"", entry.name),
                                                    *request.executable, *request.batching))
                          .signature;
  }
  entry.footprint = SLUICE_TRY(engine.estimate(request));
  request.name = entry.name;
  const std::lock_guard lock(mutex_);
  entry.key = fmt::format("{}#{:x}", entry.name, ++next_);
  SLUICE_TRY(engine.add_on_demand(entry.key, std::move(request), is_pinned));
  entries_.emplace(next_, std::make_shared<const Entry>(std::move(entry)));
  return next_;
}

Result<std::shared_ptr<const DemandModels::Entry>> DemandModels::find(std::uint64_t model) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(model);
  if (it == entries_.end()) return unknown_model(model);
  return it->second;
}

Result<std::shared_ptr<const DemandModels::Entry>> DemandModels::remove(std::uint64_t model) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(model);
  if (it == entries_.end()) return unknown_model(model);
  auto entry = std::move(it->second);
  entries_.erase(it);
  return entry;
}

std::map<std::uint64_t, std::shared_ptr<const DemandModels::Entry>> DemandModels::all() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

}  // namespace sluice::api
