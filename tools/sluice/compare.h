// Is a tensor what it should be?
#pragma once

#include <string>

#include "exec/loaded_model.h"
#include "ir/attribute.h"

namespace sluice::tool {

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

/// "" if `got` has the type and shape of `expected` and every element agrees, within the tolerance
/// for floats and exactly for the rest; else what differs first and worst.
std::string find_difference(const exec::TensorView& got, const ir::Constant& expected,
                            const Tolerance& tolerance);

}  // namespace sluice::tool
