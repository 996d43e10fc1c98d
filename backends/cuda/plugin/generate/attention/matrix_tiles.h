// Attention on matrix units, for f16 and bf16.
//
// A warp has 16 rows of scores: queries of the heads that share keys, one head after the other. Its
// block goes once over the keys, a tile at a time, and keeps for each row the largest score and the
// sum of the weights so far, as FlashAttention-2 (Dao, 2023): the weights of a tile are multiplied
// with its values at once, and no row of scores is kept.
#pragma once

#include "plugin/generate/attention/problem.h"

namespace sluice::cuda {

/// Whether the kernel takes it: halves, heads of multiples of 8 elements up to 128, no scores asked
/// for. Requires: every dimension is known.
bool fits_matrix_tiles(const sluice_op& op, const Problem& problem);

/// Requires: fits_matrix_tiles.
/// Fails: UNIMPLEMENTED  a launch has too few blocks
Status write_matrix_tiles(const sluice_op& op, const Problem& problem, Source* source);

/// As above with a number of warps to a block.
Status write_matrix_tiles(const sluice_op& op, const Problem& problem, int warps, Source* source);

}  // namespace sluice::cuda
