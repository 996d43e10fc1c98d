#pragma once

// Powers of floats in vectors. Included by kernel sources only.
//
// Positive normal bases go through doubles, whose logarithm and exponential are exact enough for
// the nearest float in nearly all cases: within 1 unit in the last place, as functions_test.cc
// measures. The C library computes lanes of other bases, and of exponents that are no finite
// numbers.

#include "core/simd.h"
#include "kernels/elements/double_vectors.h"
#include "kernels/rows/row_folds.h"

extern "C" float powf(float, float);  // from libm, without <cmath>: see core/simd.h

namespace sluice::cpu::SLUICE_CPU_ISA {

/// As many floats as a vector has doubles.
using HalfVec = float __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES / 2)));

SLUICE_CPU_INLINE HalfVec lower_half(Vec v) {
#if SLUICE_CPU_VECTOR_BYTES == 64
  return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
#elif SLUICE_CPU_VECTOR_BYTES == 32
  return __builtin_shufflevector(v, v, 0, 1, 2, 3);
#else
  return __builtin_shufflevector(v, v, 0, 1);
#endif
}

SLUICE_CPU_INLINE HalfVec upper_half(Vec v) {
#if SLUICE_CPU_VECTOR_BYTES == 64
  return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
#elif SLUICE_CPU_VECTOR_BYTES == 32
  return __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
  return __builtin_shufflevector(v, v, 2, 3);
#endif
}

SLUICE_CPU_INLINE Vec halves_of(HalfVec low, HalfVec high) {
#if SLUICE_CPU_VECTOR_BYTES == 64
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif SLUICE_CPU_VECTOR_BYTES == 32
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#else
  return __builtin_shufflevector(low, high, 0, 1, 2, 3);
#endif
}

/// Requires: base > 0, both finite.
SLUICE_CPU_INLINE HalfVec power_of_positive(HalfVec base, HalfVec exponent) {
  const Doubles x = __builtin_convertvector(base, Doubles);
  const Doubles y = __builtin_convertvector(exponent, Doubles);
  return __builtin_convertvector(exp_of(log_normal(x) * y), HalfVec);
}

SLUICE_CPU_INLINE Vec power_of(Vec base, Vec exponent) {
  const VecI is_easy = (base >= broadcast(1.17549435e-38f)) & is_finite(base) & is_finite(exponent);
  const Vec x = select(is_easy, base, broadcast(1.0f));
  const Vec z = select(is_easy, exponent, broadcast(1.0f));
  Vec y = halves_of(power_of_positive(lower_half(x), lower_half(z)),
                    power_of_positive(upper_half(x), upper_half(z)));
  if (!any(~is_easy)) return y;
  for (int i = 0; i < kLanes; ++i) {
    if (is_easy[i] == 0) y[i] = powf(base[i], exponent[i]);
  }
  return y;
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
