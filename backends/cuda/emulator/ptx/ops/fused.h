// fma of 32 lanes, by the processor's own instruction where it has one.
#pragma once

#include "emulator/ptx/code/program.h"
#include "emulator/ptx/code/types.h"

namespace sluice::cuda::ptx {

/// fma.rn without modifiers; null for types other than f32 and f64.
Step fused_step(Type type);

}  // namespace sluice::cuda::ptx
