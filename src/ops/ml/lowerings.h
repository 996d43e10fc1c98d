// What import makes of most operators of ai.onnx.ml: see ops/contrib/lowering.h. Their shape
// functions, which have run before, checked attributes and shapes.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "ops/contrib/lowering.h"

namespace sluice::ops {

/// By name.
using Lowerings = std::vector<std::pair<std::string_view, LowerFn>>;

Lowerings ml_lowerings();

// Families, a file each.
Lowerings category_lowerings();
Lowerings feature_lowerings();
Lowerings linear_lowerings();
Lowerings map_lowerings();
Lowerings svm_lowerings();

/// Trees whose classes have names: the same trees with numbered classes, and a look-up of names.
/// Null for any other operation, which stays as it is.
LowerFn find_tree_lowering(const ir::Operation& operation);

}  // namespace sluice::ops
