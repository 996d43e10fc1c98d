// Kernels that compute on some multiprocessors alone, without help of the driver.
//
// A masked kernel is launched with enough blocks to reach every multiprocessor. A block on one that
// the mask forbids leaves at once. The others take the numbers of the kernel's own blocks from a
// counter, one after the other, until none is left. So far this is the scheme that StreamBox
// published; it loses work when no block lands on a multiprocessor of the mask, which a busy device
// makes likely. Here the last block that leaves takes the numbers that nobody took, wherever it
// runs: no work is lost, nobody has to look and launch again, and the counters are back at 0 for
// the next kernel of the stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

/// The words of 32 bits in device memory that the masked kernels of one stream share.
struct MaskWords {
  static constexpr int kNext = 0;     ///< number of the block that comes next; 0 between kernels
  static constexpr int kLeft = 1;     ///< blocks that have left; 0 between kernels
  static constexpr int kStrayed = 2;  ///< numbers taken outside of the mask, so far
  static constexpr int kBits = 3;     ///< a bit per multiprocessor
};

/// The words of a new stream. Requires: cores in [0, num_cores).
std::vector<std::uint32_t> mask_words(std::int32_t num_cores, std::span<const std::int32_t> cores);

/// Rewrites the text of a kernel. Two parameters follow its own: `unsigned num_blocks`, its grid,
/// and `unsigned* mask`, the words. Its grid may be any when it is launched; a block needs no more
/// shared memory than four bytes on top.
/// Requires: as `generate` writes it, or edited within its braces: a kernel with a grid of one
/// dimension, which knows its block by `blockIdx.x`.
/// Fails: INVALID_ARGUMENT  the text has no such kernel
Status mask_kernel(Source* source);

}  // namespace sluice::cuda
