#pragma once

#include "terms/tensors/tensor.h"

namespace sluice::runtime {

/// Whether a tensor of f32, f64, f16 or bf16 holds a NaN; other types hold none. Reads it all.
bool holds_nan(const terms::TensorView& tensor);

}  // namespace sluice::runtime
