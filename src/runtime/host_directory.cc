#include "runtime/host_directory.h"

#include <algorithm>
#include <utility>

namespace sluice::runtime {
namespace {

/// Users before what they use. Requests of graphs go on to their next functions, and functions run
/// in workers that are cells. Combined models come last: the engine answers what they passed on.
constexpr std::array kUsersFirst = {HandleKind::kGraph,  HandleKind::kFunction,
                                    HandleKind::kWorker, HandleKind::kOnDemand,
                                    HandleKind::kEngine, HandleKind::kCombined};

}  // namespace

ModelHost& HostDirectory::find(std::uint64_t handle) const {
  ModelHost* found = host(kind_of(handle));
  return found != nullptr ? *found : *host(HandleKind::kEngine);
}

std::vector<terms::ModelInfo> HostDirectory::list() const {
  std::vector<terms::ModelInfo> all;
  for (auto kind = kUsersFirst.rbegin(); kind != kUsersFirst.rend(); ++kind) {
    if (host(*kind) == nullptr) continue;
    for (terms::ModelInfo& info : host(*kind)->list_models()) {
      const auto uses_it = [&](const ModelHost* other) {
        return other != nullptr && other != host(*kind) && other->uses(info);
      };
      if (std::ranges::none_of(hosts_, uses_it)) all.push_back(std::move(info));
    }
  }
  return all;
}

void HostDirectory::shutdown(std::int64_t drain_deadline_ns) const {
  for (const HandleKind kind : kUsersFirst) {
    if (host(kind) != nullptr) host(kind)->shutdown(drain_deadline_ns);
  }
}

}  // namespace sluice::runtime
