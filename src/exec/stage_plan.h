// A stage made ready: kernels for its shapes, and a place for every operand.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/kernel.h"
#include "exec/stage.h"
#include "plan/placement.h"

namespace sluice::exec {

struct ModelState;
struct Program;

/// All numbers that a plan depends on: dimensions of inputs, then per earlier stage the values read
/// from memory and the actual dimensions of its last results.
using RunKey = std::vector<std::int64_t>;

/// Immutable; shared by contexts.
struct StagePlan {
  Stage stage;
  ops::SubgraphFacts facts;   ///< after the stage
  plan::Placement placement;  ///< after the stage
  /// One per step of the stage; null where no kernel runs: views, results without elements, steps
  /// of the executor.
  std::vector<std::shared_ptr<const backend::Kernel>> kernels;
};

/// Plans from place `begin` of the order, given what is known there.
/// Fails: what shape functions, kernel creation and placement object to.
Result<std::shared_ptr<const StagePlan>> make_stage_plan(const ModelState& model,
                                                         const Program& program, std::size_t begin,
                                                         ops::SubgraphFacts facts,
                                                         std::span<const plan::Place> earlier);

}  // namespace sluice::exec
