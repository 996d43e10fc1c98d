#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Squared Euclidean distances of one row from `count` contiguous rows of `columns` entries.
SLUICE_CPU_EACH_ISA(void squared_distances(const float* row, const float* others,
                                           std::int64_t count, std::int64_t columns,
                                           float* distances);)

}  // namespace sluice::cpu
