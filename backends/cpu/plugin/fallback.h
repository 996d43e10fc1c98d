#pragma once

#include <memory>

#include "plugin/kernel.h"

namespace sluice::cpu {

/// Ok if the reference kernels can run `op`.
Status check_fallback(const sluice_op& op);

/// Runs `op` through the reference kernels, on worker 0.
Status make_fallback(const sluice_op& op, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
