// What all contexts of a loaded model share.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/group.h"
#include "exec/loaded_model.h"
#include "exec/packed_store.h"
#include "exec/segment_map.h"
#include "exec/stage_plan.h"

namespace sluice::exec {

/// Plans by what was known when they were made. Bounded: the oldest goes. Takes a lock; contexts
/// ask only for shapes that they have not met themselves.
class PlanCache {
 public:
  std::shared_ptr<const StagePlan> find(const RunKey& key) const;
  void insert(const RunKey& key, std::shared_ptr<const StagePlan> plan);

 private:
  static constexpr std::size_t kMostPlans = 128;
  mutable std::mutex mutex_;
  std::map<RunKey, std::shared_ptr<const StagePlan>> plans_;
  std::list<RunKey> order_;
};

struct ModelState {
  explicit ModelState(std::shared_ptr<const package::Executable> shared)
      : executable_owner(std::move(shared)), executable(*executable_owner) {}

  std::shared_ptr<const package::Executable> executable_owner;  // shared by all placements
  const package::Executable& executable;
  package::Signature signature;
  LoadOptions options;
  std::vector<std::shared_ptr<const backend::Backend>> backends;
  SegmentMap segments;
  PackedStore packed;
  ops::SubgraphFacts initial_facts;
  /// Of a model whose every shape is known at load: one stage. Null otherwise.
  std::shared_ptr<const StagePlan> static_plan;
  /// Inputs whose integers shape functions read: part of what a plan depends on.
  std::vector<bool> is_shape_input;
  mutable PlanCache plans;

  const ir::Subgraph& main() const { return executable.graph.main(); }
};

}  // namespace sluice::exec
