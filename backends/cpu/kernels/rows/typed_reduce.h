#pragma once

#include "kernels/elements/typed.h"
#include "kernels/rows/reduce.h"

namespace sluice::cpu {

/// Elements of [outer][axis][inner], folded in their own type: integers wrap. Floats of 32 bits are
/// folded in double. `divisor` and `root` apply to floats.
SLUICE_CPU_EACH_ISA(void run_typed_reduce(const ReducePlan& plan, Number type, const void* x,
                                          void* y, const Worker& worker);)

}  // namespace sluice::cpu
