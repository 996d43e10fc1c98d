// Marks on products whose weights the model has in 16 bits.
#pragma once

namespace sluice::passes {

/// Attribute of a MatMul, Gemm or Conv that `widen_halves` sets and `narrow_weights` takes away:
/// the type of the weights in the model, "f16" or "bf16".
inline constexpr const char* kNarrowWeights = "sluice_narrow_weights";

}  // namespace sluice::passes
