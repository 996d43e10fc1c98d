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

/// All numbers that a plan depends on: dimensions of inputs, then per earlier range the values read
/// from memory and the actual dimensions of its last results.
using RunKey = std::vector<std::int64_t>;

/// An output that may be written to the memory of an input; see in_place_outputs.h.
struct InPlaceOutput {
  std::size_t output = 0;
  std::size_t input = 0;

  bool operator==(const InPlaceOutput&) const = default;
};

/// Immutable; shared by contexts.
struct RangePlan {
  StepRange range;
  ops::SubgraphFacts facts;   ///< after the range
  plan::Placement placement;  ///< after the range
  /// One per step of the range; null where no kernel runs: views, results without elements, steps
  /// of the executor.
  std::vector<std::shared_ptr<const backend::Kernel>> kernels;
  std::vector<InPlaceOutput> in_place_outputs;
};

/// Plans the range that starts at position `begin` of the order, given the facts known there.
/// Fails: errors of shape functions, kernel creation and placement.
Result<std::shared_ptr<const RangePlan>> make_range_plan(const ModelState& model,
                                                         const SubgraphCode& code,
                                                         std::size_t begin,
                                                         ops::SubgraphFacts facts,
                                                         std::span<const plan::Place> earlier);

/// As above for a range that `plan_range` gave; `facts` are those after it.
Result<std::shared_ptr<const RangePlan>> prepare_range(const ModelState& model,
                                                       const SubgraphCode& code, StepRange range,
                                                       ops::SubgraphFacts facts,
                                                       std::span<const plan::Place> earlier);

}  // namespace sluice::exec
