#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// MaxPool and AveragePool of row-major f32 volumes [N, C, D, H, W].
Status check_volume_pool(const sluice_op& op);
Status make_volume_pool(const sluice_op& op, bool is_max, Isa isa, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
