#pragma once

#include "ops/broadcast.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Values of a constant operand of i32 or i64, none where it is absent; false where it is not
/// constant or of another type.
bool constant_integers(const sluice_op& op, int input, Dims* values);

}  // namespace sluice::cpu
