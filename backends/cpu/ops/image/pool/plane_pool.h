#pragma once

#include <memory>

#include "core/isa.h"
#include "ops/image/window.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Whether a MaxPool of row-major images has windows one pixel apart, and rows so short that some
/// of them stay in the nearest cache.
bool suits_plane_pool(const Window& window, Extent input, Extent output);

/// Requires: suits_plane_pool, and f32 operands.
std::unique_ptr<Kernel> make_plane_pool(const sluice_op& op, const Window& window, Isa isa);

}  // namespace sluice::cpu
