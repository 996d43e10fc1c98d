// What import makes of most operators of ai.onnx.ml: see ops/contrib/lowering.h.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "ops/contrib/lowering.h"

namespace sluice::ops {

/// By name.
std::vector<std::pair<std::string_view, LowerFn>> ml_lowerings();

}  // namespace sluice::ops
