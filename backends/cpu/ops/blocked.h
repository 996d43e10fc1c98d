#pragma once

#include <optional>

#include "ops/broadcast.h"
#include "sluice/backend.hpp"

namespace sluice::cpu {

/// The dimensions that a tensor has in memory: of c16 [N, ceil(C/16), spatial..., 16].
Dims memory_dims(const sluice_tensor& tensor);

/// The dimensions with which the memory of `operand` broadcasts to memory_dims(out); none where its
/// elements do not lie as the layout of `out` needs them. Unknown dimensions (-1) pass.
std::optional<Dims> memory_dims_within(const sluice_tensor& operand, const sluice_tensor& out);

}  // namespace sluice::cpu
