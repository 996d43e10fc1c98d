#pragma once

#include "core/isa.h"

namespace sluice::cpu {

/// Floating-point operations per second of one core, measured with multiply-adds that never leave
/// the registers (about 20 ms). The denominator of every efficiency.
SLUICE_CPU_EACH_ISA(double fma_flops_per_second();)

}  // namespace sluice::cpu
