// Per-channel constants in blocks of channels, for element-wise operations on blocked images.
#pragma once

#include "ir/attribute.h"

namespace sluice::compile {

/// Whether the constant broadcasts along channels alone into an image of `rank` dimensions: f32 of
/// shape [1, C, 1, ...] or [C, 1, ...], or one element.
bool can_block_channels(const ir::Constant& constant, std::size_t rank);

/// Requires: can_block_channels(constant, rank).
ir::Type blocked_type(const ir::Constant& constant, std::size_t rank);
/// Pads the last block with zeros. Requires: can_block_channels(constant, rank).
ir::Constant block_channels(const ir::Constant& constant, std::size_t rank);

}  // namespace sluice::compile
