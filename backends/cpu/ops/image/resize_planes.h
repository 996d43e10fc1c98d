#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Ok if make_resize_planes can run a Resize of row-major f32, u8 or i8: in every mode, antialiased
/// or not, along the last one to three axes. Scales of a region (tf_crop_and_resize) and policies
/// of aspect ratios it leaves to the reference kernels.
Status check_resize_planes(const sluice_op& op);

Status make_resize_planes(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
