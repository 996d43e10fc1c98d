#include "kernels/matrix/dot_rows.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Rows together, so that x is read once for them and their sums hide each other's latency.
constexpr int kRows = 4;

template <int kCount>
SLUICE_CPU_INLINE void dot(const float* a, std::int64_t k, const float* x, float* y) {
  Vec sums[kCount] = {};
  std::int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) {
    const Vec right = load(x + p);
    SLUICE_CPU_UNROLL
    for (int r = 0; r < kCount; ++r) sums[r] = fmadd(load(a + r * k + p), right, sums[r]);
  }
  if (p < k) {
    const int left = static_cast<int>(k - p);
    const Vec right = load_first(x + p, left);
    SLUICE_CPU_UNROLL
    for (int r = 0; r < kCount; ++r) {
      sums[r] = fmadd(load_first(a + r * k + p, left), right, sums[r]);
    }
  }
  for (int r = 0; r < kCount; ++r) y[r] = reduce_add(sums[r]);
}

}  // namespace

void dot_rows(const float* a, std::int64_t rows, std::int64_t k, const float* x, float* y) {
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) dot<kRows>(a + i * k, k, x, y + i);
  for (; i < rows; ++i) dot<1>(a + i * k, k, x, y + i);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
