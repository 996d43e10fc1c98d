#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Ok if make_pool_places can run a MaxPool that also tells where its results lie: row-major f32 of
/// one to three spatial axes.
Status check_pool_places(const sluice_op& op);

Status make_pool_places(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
