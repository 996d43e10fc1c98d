// Weights of bytes too far from their zero point for i8.
#pragma once

#include <optional>
#include <vector>

#include "passes/match.h"

namespace sluice::passes {

/// Weights as a sum of two constants of i8 around 0, exactly.
struct SplitWeights {
  ir::Constant main;
  ir::Constant rest;           ///< what lies outside -128..127; mostly zeros
  std::vector<double> scales;  ///< per index of the first axis
};

/// The u8 weights that `id` is dequantized from, if the scale and the zero point are one each or
/// one per index of the first axis; nullopt for a byte 255 above its zero point.
std::optional<SplitWeights> split_weights(const Matcher& matcher, ir::OperandId id);

}  // namespace sluice::passes
