// What all contexts of a loaded model share.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/group.h"
#include "base/byte_budget.h"
#include "exec/constants/packed_store.h"
#include "exec/loaded_model.h"
#include "exec/plan_cache.h"
#include "exec/segment_map.h"
#include "exec/subgraph_code.h"

namespace sluice::exec {

struct ModelState {
  explicit ModelState(std::shared_ptr<const package::Executable> shared,
                      LoadOptions with = LoadOptions())
      : executable_owner(std::move(shared)),
        executable(*executable_owner),
        options(std::move(with)),
        plans(options.max_recorded_bytes) {}

  std::shared_ptr<const package::Executable> executable_owner;  // shared by all placements
  const package::Executable& executable;
  terms::Signature signature;
  LoadOptions options;
  ExecutorKind executor = ExecutorKind::kLinear;  ///< never kAsCompiled
  std::vector<std::shared_ptr<const backend::Backend>> backends;
  std::int64_t input_alignment = 1;  ///< all its backends take inputs at such addresses
  SegmentMap segments;
  PackedStore packed;
  std::int64_t own_bytes = 0;                    ///< of constants, beside those of the package
  std::shared_ptr<const ByteCharge> own_charge;  ///< for them, of all placements
  /// By subgraph; null for bodies of fused operations, which no frame runs.
  std::vector<std::unique_ptr<SubgraphCode>> subgraphs;

  mutable PlanCache plans;            ///< of all subgraphs
  bool draws_random_numbers = false;  ///< some operation reads the state of `options.random`

  const SubgraphCode& main() const { return *subgraphs.front(); }
};

}  // namespace sluice::exec
