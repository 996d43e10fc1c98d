// What the time of an operation depends on, as text.
#pragma once

#include <string>

#include "backend/op.h"

namespace sluice::compile {

/// Everything but values of constants and `sluice_variant`: kind, attributes, element types,
/// shapes, layouts, which operands are constant, and the fused body.
std::string key_of(const sluice_op& op);

}  // namespace sluice::compile
