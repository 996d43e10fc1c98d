#pragma once

#include "core/isa.h"
#include "kernels/elements/typed.h"

namespace sluice::cpu {

/// Functions of f64 in vectors: within 2 units in the last place for kExp and kLog, 4 for kSigmoid
/// and kTanh, as double_functions_test.cc measures; the others round once. The C library computes
/// kSin and kCos, each lane by itself. Null for other operations.
SLUICE_CPU_EACH_ISA(TypedLoop double_function(TypedOp op);)

}  // namespace sluice::cpu
