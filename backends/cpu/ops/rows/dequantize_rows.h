#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Ok if make_dequantize_rows can run a DequantizeLinear of row-major bytes to f32: with one scale,
/// or one per place or block along an axis, constant or not.
Status check_dequantize_rows(const sluice_op& op);

Status make_dequantize_rows(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
