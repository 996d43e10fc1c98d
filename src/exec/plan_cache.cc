#include "exec/plan_cache.h"

#include <algorithm>
#include <utility>

namespace sluice::exec {

PlanCache::Shared PlanCache::find(const RunKey& key) {
  const std::lock_guard lock(mutex_);
  const Shared* found = plans_.find(key);
  return found == nullptr ? nullptr : *found;
}

PlanCache::Shared PlanCache::find_similar(ir::SubgraphId subgraph, std::size_t begin,
                                          const Facts& facts,
                                          const std::vector<ir::OperandId>& inputs) {
  // The more inputs a plan shares with the new shapes, the more of its steps can be taken over.
  const auto num_equal = [&](const RangePlan& plan) {
    return std::ranges::count_if(inputs, [&](ir::OperandId id) {
      return facts.is_same(id, plan.facts) || facts.type_of(id) == plan.facts.type_of(id);
    });
  };
  const std::lock_guard lock(mutex_);
  const auto kinds = kinds_.find({subgraph, begin});
  if (kinds == kinds_.end()) return nullptr;
  Shared best;
  std::ptrdiff_t most = -1;
  for (const auto& kind : kinds->second) {
    const Shared plan = kind.lock();
    const std::ptrdiff_t equal = plan == nullptr ? -1 : num_equal(*plan);
    if (equal <= most) continue;
    best = plan;
    most = equal;
  }
  return best;
}

PlanCache::Shared PlanCache::insert(const RunKey& key, std::shared_ptr<RangePlan> plan,
                                    ir::SubgraphId subgraph, const Shared& similar) {
  const std::int64_t bytes = plan->bytes() + static_cast<std::int64_t>(key.size() * sizeof(key[0]));
  const std::lock_guard lock(mutex_);
  // Two contexts may have planned the same shapes at once, without the lock; the first plan wins,
  // so that lists stay shared.
  if (const Shared* there = plans_.find(key)) return *there;
  plan->number = ++last_number_;
  Kinds& kinds = kinds_[{subgraph, plan->range.begin}];
  std::erase_if(kinds, [](const auto& kind) { return kind.expired(); });
  const auto same_kind = std::ranges::find_if(
      kinds, [&](const auto& kind) { return similar != nullptr && kind.lock() == similar; });
  // A variation replaces its source plan, so that a kind keeps one plan, whatever number of shapes
  // follows.
  if (same_kind != kinds.end() && plan->is_variation()) {
    *same_kind = plan;
  } else {
    // Bounds the search of find_similar, which holds the lock.
    if (kinds.size() == kMaxKinds) kinds.erase(kinds.begin());
    kinds.push_back(plan);
  }
  const bool is_cheap = plan->is_variation();
  return plans_.insert(key, std::move(plan), bytes, is_cheap);
}

std::int64_t PlanCache::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return plans_.held_bytes();
}

}  // namespace sluice::exec
