#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

// Pixels of one layout brought into another's order.

/// Between a block of c16, [pixels][16], and as many channel planes of `pixels` floats, `plane`
/// floats apart. Requires: 1 <= channels <= 16.
SLUICE_CPU_EACH_ISA(
    /// Reads the first `channels` lanes of the block.
    void block_to_planes(const float* block, std::int64_t pixels, std::int64_t channels,
                         float* planes, std::int64_t plane);
    /// Lanes from `channels` on become zero.
    void planes_to_block(const float* planes, std::int64_t plane, std::int64_t channels,
                         std::int64_t pixels, float* block);
    /// to[i] = from[2 * i] for i < count: the pixels that a stride of 2 meets.
    void every_second(const float* from, std::int64_t count, float* to);)

}  // namespace sluice::cpu
