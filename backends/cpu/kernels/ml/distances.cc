#include "kernels/ml/distances.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Number of vectors measured at once: each load of `row` serves all of them.
constexpr int kTogether = 4;

template <int kCount>
SLUICE_CPU_INLINE void measure(const float* row, const float* others, std::int64_t columns,
                               float* distances) {
  Vec sums[kCount] = {};
  std::int64_t k = 0;
  for (; k + kLanes <= columns; k += kLanes) {
    const Vec x = load(row + k);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const Vec difference = x - load(others + i * columns + k);
      sums[i] = fmadd(difference, difference, sums[i]);
    }
  }
  if (k < columns) {
    const int left = static_cast<int>(columns - k);
    const Vec x = load_first(row + k, left);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const Vec difference = x - load_first(others + i * columns + k, left);
      sums[i] = fmadd(difference, difference, sums[i]);
    }
  }
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kCount; ++i) distances[i] = reduce_add(sums[i]);
}

constexpr int kTurnedVectors = kTurnedRows / kLanes;
/// Vectors of turned rows, and rows that they are measured from, whose sums fit in registers.
constexpr int kVectorsAtOnce = kTurnedVectors < 2 ? kTurnedVectors : 2;
constexpr int kRowsAtOnce = 4;

template <int kRows>
SLUICE_CPU_INLINE void measure_turned(const float* rows, const float* turned, std::int64_t count,
                                      std::int64_t columns, float* distances, std::int64_t pitch) {
  Vec sums[kRows][kVectorsAtOnce] = {};
  // Each lane belongs to another turned row, so that nothing is added across lanes.
  for (std::int64_t k = 0; k < columns; ++k) {
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Vec x = broadcast(rows[i * columns + k]);
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectorsAtOnce; ++v) {
        const Vec difference = x - load(turned + k * kTurnedRows + v * kLanes);
        sums[i][v] = fmadd(difference, difference, sums[i][v]);
      }
    }
  }
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kRows; ++i) {
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectorsAtOnce; ++v) {
      const std::int64_t left = count - v * kLanes;
      if (left <= 0) break;
      store_first(distances + i * pitch + v * kLanes, sums[i][v],
                  left < kLanes ? static_cast<int>(left) : kLanes);
    }
  }
}

}  // namespace

void turn_rows(const float* rows, std::int64_t count, std::int64_t columns, float* turned) {
  for (std::int64_t k = 0; k < columns; ++k) {
    for (std::int64_t i = 0; i < count; ++i) turned[k * kTurnedRows + i] = rows[i * columns + k];
    for (std::int64_t i = count; i < kTurnedRows; ++i) turned[k * kTurnedRows + i] = 0;
  }
}

void turned_distances(const float* rows, std::int64_t num_rows, const float* turned,
                      std::int64_t count, std::int64_t columns, float* distances,
                      std::int64_t pitch) {
  constexpr std::int64_t kWidth = kVectorsAtOnce * kLanes;
  for (std::int64_t first = 0; first < count; first += kWidth) {
    std::int64_t row = 0;
    for (; row + kRowsAtOnce <= num_rows; row += kRowsAtOnce) {
      measure_turned<kRowsAtOnce>(rows + row * columns, turned + first, count - first, columns,
                                  distances + row * pitch + first, pitch);
    }
    for (; row < num_rows; ++row) {
      measure_turned<1>(rows + row * columns, turned + first, count - first, columns,
                        distances + row * pitch + first, pitch);
    }
  }
}

void squared_distances(const float* row, const float* others, std::int64_t count,
                       std::int64_t columns, float* distances) {
  std::int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    measure<kTogether>(row, others + i * columns, columns, distances + i);
  }
  for (; i < count; ++i) measure<1>(row, others + i * columns, columns, distances + i);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
