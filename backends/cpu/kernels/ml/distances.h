#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Squared Euclidean distances of one row from `count` contiguous rows of `columns` entries.
SLUICE_CPU_EACH_ISA(void squared_distances(const float* row, const float* others,
                                           std::int64_t count, std::int64_t columns,
                                           float* distances);)

/// Rows that are measured side by side, one per lane.
inline constexpr int kTurnedRows = 32;

/// Turns `count` contiguous rows, at most kTurnedRows, to [columns][kTurnedRows]; lanes past them
/// are 0.
SLUICE_CPU_EACH_ISA(void turn_rows(const float* rows, std::int64_t count, std::int64_t columns,
                                   float* turned);)

/// Squared distances of `num_rows` contiguous rows from `count` turned ones: [num_rows][count],
/// with `pitch` floats from one row to the next.
SLUICE_CPU_EACH_ISA(void turned_distances(const float* rows, std::int64_t num_rows,
                                          const float* turned, std::int64_t count,
                                          std::int64_t columns, float* distances,
                                          std::int64_t pitch);)

}  // namespace sluice::cpu
