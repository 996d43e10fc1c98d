#pragma once

#include <cstdint>

#include "isa.h"
#include "kernels/gemm.h"

namespace sluice::cpu {

// Strassen's method (V. Strassen, "Gaussian elimination is not optimal", 1969): A, B and C are cut
// into 2x2 blocks, of which seven products of sums of blocks are computed in the place of eight
// products of blocks; with two levels each of the seven in this way again, 49 in the place of 64.
// Sums of blocks of a constant B are made ahead, so they cost memory and no time; those of A every
// worker makes for itself, for what another one has just written comes late.
//
// An element of C has the rounding errors of whole blocks in it, of terms that cancel: a few times
// those of the ordinary product for each level. An infinity or a NaN in A or B makes NaN of rows
// or columns of several blocks of C.

inline constexpr int kStrassenMaxLevels = 2;

/// How products with one B are cut.
struct StrassenCut {
  int levels = 0;  ///< 0: not by this method
  /// Equal stretches of K, each a product of its own that is added to the others: sums of blocks of
  /// A are to stay near while the columns pass by.
  std::int64_t stretches = 1;

  bool operator==(const StrassenCut&) const = default;
};

/// The cut with the most levels, `levels` or fewer, for which all blocks are large enough to gain
/// by it; none for `levels` below 1.
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
