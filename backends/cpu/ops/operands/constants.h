#pragma once

#include "ops/operands/broadcast.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Reads the values of a constant operand of i32 or i64. An absent operand has no values. Returns
/// false if the operand is not constant or has another type.
bool constant_integers(const sluice_op& op, int input, Dims* values);

}  // namespace sluice::cpu
