// The families of operators, one file each. `registry.cc` joins them.
#pragma once

#include <vector>

#include "ops/schema.h"

namespace sluice::ops {

std::vector<OpSchema> elementwise_unary_ops();

}  // namespace sluice::ops
