#include "kernels/matrix/determinant.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

std::int64_t find_pivot(const double* a, std::int64_t n, std::int64_t c) {
  std::int64_t pivot = c;
  for (std::int64_t r = c + 1; r < n; ++r) {
    if (__builtin_fabs(a[r * n + c]) > __builtin_fabs(a[pivot * n + c])) pivot = r;
  }
  return pivot;
}

void swap_rows(double* __restrict a, double* __restrict b, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double kept = a[j];
    a[j] = b[j];
    b[j] = kept;
  }
}

void subtract(double* __restrict row, const double* __restrict from, double factor,
              std::int64_t begin, std::int64_t end) {
  for (std::int64_t j = begin; j < end; ++j) row[j] -= factor * from[j];
}

}  // namespace

double determinant(double* a, std::int64_t n) {
  double result = 1;
  for (std::int64_t c = 0; c < n; ++c) {
    const std::int64_t pivot = find_pivot(a, n, c);
    const double value = a[pivot * n + c];
    if (value == 0) return 0;
    if (pivot != c) {
      result = -result;
      swap_rows(a + pivot * n, a + c * n, n);
    }
    result *= value;
    for (std::int64_t r = c + 1; r < n; ++r) {
      subtract(a + r * n, a + c * n, a[r * n + c] / value, c, n);
    }
  }
  return result;
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
