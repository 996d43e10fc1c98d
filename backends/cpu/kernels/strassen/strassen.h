#pragma once

#include <cstdint>

#include "core/isa.h"
#include "kernels/matrix/gemm.h"

namespace sluice::cpu {

// Strassen's method (V. Strassen, "Gaussian elimination is not optimal", 1969): A, B and C are cut
// into 2x2 blocks. Seven products of sums of blocks replace the eight products of blocks. With two
// levels the method is applied to each of the seven again: 49 products replace 64.
// Sums of blocks of a constant B are made at compile time, so they cost memory and no run time.
// Each worker makes its own sums of blocks of A: reading what another core has just written is
// slow.
//
// Accuracy: each element of C contains rounding errors of terms that cancel, so each level
// multiplies the error of the ordinary product by a few. An infinity or a NaN in A or B turns rows
// or columns of several blocks of C into NaN.

inline constexpr int kStrassenMaxLevels = 2;

/// How products with one B are cut.
struct StrassenCut {
  int levels = 0;  ///< 0: an ordinary product
  /// Number of equal stretches of K. Each is a product of its own, and all are added: the sums of
  /// blocks of A of one stretch stay in cache while the columns pass by.
  std::int64_t stretches = 1;

  bool operator==(const StrassenCut&) const = default;
};

/// Returns the cut with the most levels, at most `levels`, whose blocks are large enough to gain;
/// levels == 0 if there is none.
StrassenCut find_strassen_cut(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t levels);

/// Sums of blocks of a B of k x n: [stretches][groups of columns][7^levels][depth of a block][panel
/// width]; depends on the instruction set and, but for the cut, not on m.
/// Requires: here and below, k is a multiple of (16 << levels) * stretches.
SLUICE_CPU_EACH_ISA(std::int64_t packed_strassen_b_floats(const StrassenCut& cut, std::int64_t k,
                                                          std::int64_t n);)

/// Packs scale * B, with B(p, j) = b[p * step + j * column]; sums in double, rounded once.
SLUICE_CPU_EACH_ISA(void pack_strassen_b(const StrassenCut& cut, const float* b, std::int64_t step,
                                         std::int64_t column, std::int64_t k, std::int64_t n,
                                         float scale, float* packed);)

/// Scratch that each worker needs, up to some 3 MB. Requires: here and below, m and n are positive.
SLUICE_CPU_EACH_ISA(std::int64_t strassen_scratch_bytes(const StrassenCut& cut,
                                                        const GemmPlan& plan);)

/// C = epilogue(bias + A * B), as run_gemm has it; `args.b` is by pack_strassen_b. Workers divide
/// groups of columns and, where these are too few, rows of blocks.
/// Requires: one batch item, plan.a_step is 1. plan.blocks is not used.
SLUICE_CPU_EACH_ISA(void run_strassen(const StrassenCut& cut, const GemmPlan& plan,
                                      const GemmArgs& args, const Worker& worker);)

}  // namespace sluice::cpu
