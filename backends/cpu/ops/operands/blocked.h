#pragma once

#include <optional>

#include "ops/operands/broadcast.h"
#include "sluice/backend.hpp"

namespace sluice::cpu {

/// The dimensions that a tensor has in memory: of c16 [N, ceil(C/16), spatial..., 16].
Dims memory_dims(const sluice_tensor& tensor);

/// The dimensions with which the memory of `operand` broadcasts to memory_dims(out); none if the
/// layout of its elements does not match `out`. Accepts unknown dimensions (-1).
std::optional<Dims> memory_dims_within(const sluice_tensor& operand, const sluice_tensor& out);

}  // namespace sluice::cpu
