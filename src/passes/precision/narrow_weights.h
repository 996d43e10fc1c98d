// Marks on products whose weights the model has in 16 bits.
#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"

namespace sluice::passes {

/// Attribute of a MatMul, Gemm or Conv that `widen_halves` sets and `narrow_weights` takes away:
/// the type of the weights in the model, "f16" or "bf16".
inline constexpr const char* kNarrowWeights = "sluice_narrow_weights";

/// The type that `kNarrowWeights` of the product names; nullopt if it has no such attribute.
std::optional<ir::ElementType> narrow_type(const ir::Operation& product);

/// Rounds weights that a fusion changed to the 16 bits that the model had them in, so that
/// `narrow_weights` still finds them exact. Each moves by at most half a unit in the last place of
/// the largest one.
/// Leaves all as they are if the largest is no normal number of that type.
void round_weights(ir::ElementType element, std::span<float> weights);

}  // namespace sluice::passes
