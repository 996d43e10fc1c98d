#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Ok if make_resize_planes can run a Resize of row-major f32: to the nearest pixel, linearly or
/// cubically along the last one or two axes.
Status check_resize_planes(const sluice_op& op);

Status make_resize_planes(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
