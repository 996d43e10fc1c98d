// A planned range: kernels for its shapes, and a place in memory for every operand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/kernel.h"
#include "exec/step_range.h"
#include "plan/placement.h"

namespace sluice::exec {

struct ModelState;
struct SubgraphCode;

/// All numbers that a plan depends on: the subgraph, then for the first range -1 and the dimensions
/// of inputs, for another the number of the plan of the range before, the values read from memory
/// behind it and the actual dimensions of its last results.
using RunKey = std::vector<std::int64_t>;

struct RunKeyHash {
  std::size_t operator()(const RunKey& key) const;
};

/// An output that may be written to the memory of an input; see in_place_outputs.h.
struct InPlaceOutput {
  std::size_t output = 0;
  std::size_t input = 0;

  bool operator==(const InPlaceOutput&) const = default;
};

/// Immutable; shared by contexts.
struct RangePlan {
  StepRange range;
  Facts facts;                                       ///< after the range
  std::shared_ptr<const plan::Placement> placement;  ///< after the range; shared by similar plans
  std::shared_ptr<const plan::Placement> earlier;    ///< that `placement` continues; may be null
  /// One per step of the range; null where no kernel runs: views, results without elements, steps
  /// of the executor.
  std::vector<std::shared_ptr<const backend::Kernel>> kernels;
  std::vector<plan::StepTraits> traits;  ///< one per step of the range
  std::vector<InPlaceOutput> in_place_outputs;
  std::size_t num_reused = 0;  ///< steps whose kernels another plan had already
  std::int64_t number = 0;     ///< of this plan among those of its model's cache

  /// Whether it was made from a similar plan with little work. The plan of a longer past is a
  /// variation; the plan of another prompt differs in nearly all steps.
  bool is_variation() const;
  /// An estimate of its memory, that of its kernels included.
  std::int64_t bytes() const;
};

/// What a range is planned from.
struct RangeRequest {
  std::size_t begin = 0;                           ///< position in the order
  Facts facts;                                     ///< known there
  std::shared_ptr<const plan::Placement> earlier;  ///< of the range before; null for the first
  /// A plan of the same position, or null: steps of the same shapes take over its kernels, and the
  /// placement serves again if it has room for those of other shapes.
  std::shared_ptr<const RangePlan> similar;
};

/// Fails: errors of shape functions, kernel creation and placement.
Result<std::shared_ptr<RangePlan>> make_range_plan(const ModelState& model,
                                                   const SubgraphCode& code, RangeRequest request);

/// As above for a range that `plan_range` gave; the request's facts are those after it.
Result<std::shared_ptr<RangePlan>> prepare_range(const ModelState& model, const SubgraphCode& code,
                                                 StepRange range, RangeRequest request);

}  // namespace sluice::exec
