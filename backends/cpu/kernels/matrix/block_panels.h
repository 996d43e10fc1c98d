#pragma once

// Many rounded rows times a matrix of 4 or 8 bits. Included by kernel sources only.

#include "core/simd.h"
#include "kernels/matrix/block_matrix.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// BlockKernels::round and BlockKernels::multiply_rounded.
void round_row(const BlockMatrix& b, const float* a, std::int64_t k, float* row);
void multiply_rounded(const BlockMatrix& b, std::int64_t begin, std::int64_t end, const float* rows,
                      std::int64_t count, float* c, std::int64_t c_row, float* panel);

}  // namespace sluice::cpu::SLUICE_CPU_ISA
