#pragma once

#include <cstdint>
#include <memory>

#include "core/isa.h"
#include "ops/rows/along_axis.h"

namespace sluice::cpu {

/// Softmax, or its logarithm, of row-major f64 along the axis of `view`.
std::unique_ptr<Kernel> make_double_softmax(const sluice_op& op, const AlongAxis& view, bool is_log,
                                            Isa isa);

}  // namespace sluice::cpu
