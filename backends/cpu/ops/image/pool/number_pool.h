#pragma once

#include <memory>

#include "core/isa.h"
#include "ops/image/window.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Whether a MaxPool without places is of i8, u8 or f64 and row-major, of one or two spatial axes.
bool is_number_pool(const sluice_op& op);

/// Requires: is_number_pool(op), a window of positive extents. Fails: kUnimplemented, for windows
/// that reach far behind the image, and those of f64 that may lie in the padding alone.
Status make_number_pool(const sluice_op& op, const Window& window, Isa isa,
                        std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
