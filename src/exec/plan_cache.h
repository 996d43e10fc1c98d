// The plans of a model, shared by its contexts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/containers/lru_map.h"
#include "exec/range_plan.h"

namespace sluice::exec {

/// Plans of step ranges, by the numbers they were planned for. Bounded by bytes: the least recently
/// used ones go. Thread-safe: every call takes the lock. A context asks only on the first run of a
/// shape, and keeps its recording of the plan afterwards.
class PlanCache {
 public:
  using Shared = std::shared_ptr<const RangePlan>;

  explicit PlanCache(std::int64_t limit_bytes) : plans_(limit_bytes) {}

  Shared find(const RunKey& key);

  /// A plan of the subgraph's range at `begin` from which one for these facts can be made with
  /// little work: the one whose `inputs` agree most. Null if none is alive.
  Shared find_similar(ir::SubgraphId subgraph, std::size_t begin, const Facts& facts,
                      const std::vector<ir::OperandId>& inputs);

  /// Gives the plan a number. Returns it, or the one that another thread has inserted meanwhile.
  /// `similar`: the plan that it was made from; may be null.
  Shared insert(const RunKey& key, std::shared_ptr<RangePlan> plan, ir::SubgraphId subgraph,
                const Shared& similar);

  std::int64_t held_bytes() const;

 private:
  /// Plans of different kinds, such as that of a prompt and that of one token after it: the latest
  /// of each kind.
  static constexpr std::size_t kMaxKinds = 4;
  using Kinds = std::vector<std::weak_ptr<const RangePlan>>;

  mutable std::mutex mutex_;
  LruMap<RunKey, Shared, RunKeyHash> plans_;
  std::map<std::pair<ir::SubgraphId, std::size_t>, Kinds> kinds_;
  std::int64_t last_number_ = 0;
};

}  // namespace sluice::exec
