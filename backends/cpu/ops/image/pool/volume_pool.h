#pragma once

#include <memory>

#include "core/isa.h"
#include "kernels/image/pool_row.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// MaxPool, AveragePool and LpPool of row-major f32 volumes [N, C, D, H, W].
Status check_volume_pool(const sluice_op& op);
Status make_volume_pool(const sluice_op& op, PoolKind kind, Isa isa,
                        std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
