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

}  // namespace

void squared_distances(const float* row, const float* others, std::int64_t count,
                       std::int64_t columns, float* distances) {
  std::int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    measure<kTogether>(row, others + i * columns, columns, distances + i);
  }
  for (; i < count; ++i) measure<1>(row, others + i * columns, columns, distances + i);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
