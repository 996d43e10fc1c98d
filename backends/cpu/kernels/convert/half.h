#pragma once

// IEEE numbers of 16 bits. Included by kernel sources only.

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// As in memory. Widening is exact; arithmetic is in f32.
struct Half {
  std::uint16_t bits;
};

SLUICE_CPU_INLINE float float_from_bits(std::uint32_t bits) {
  float value = 0;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

SLUICE_CPU_INLINE std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Multiplication by 2^112 moves the exponent and normalizes subnormals.
SLUICE_CPU_INLINE float float_of(Half half) {
  const std::uint32_t magnitude = half.bits & 0x7fffU;
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
  const std::uint32_t finite =
      bits_of(float_from_bits(magnitude << 13) * float_from_bits(0x77800000U));
  const std::uint32_t special = 0x7f800000U | magnitude << 13;  // infinity or NaN
  return float_from_bits(sign | (magnitude >= 0x7c00U ? special : finite));
}

/// To the nearest, ties to even.
SLUICE_CPU_INLINE Half half_of(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U;
  } else if (magnitude >= 0x477ff000U) {  // 65520 rounds to infinity
    half = 0x7c00U;
  } else if (magnitude < 0x38800000U) {  // below 2^-14 the sum's last bit is worth 2^-24
    half = bits_of(float_from_bits(magnitude) + 0.5f) - bits_of(0.5f);
  } else {
    half = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

/// kLanes numbers, widened.
SLUICE_CPU_INLINE Vec load(const Half* p) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__AVX2__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#else
  Vec v;
  for (int i = 0; i < kLanes; ++i) v[i] = float_of(p[i]);
  return v;
#endif
}

/// Rounds kLanes floats.
SLUICE_CPU_INLINE void store_halves(Half* p, Vec v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, 0));
#elif defined(__AVX2__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, 0));
#else
  for (int i = 0; i < kLanes; ++i) p[i] = half_of(v[i]);
#endif
}

/// Each lane as the nearest half.
SLUICE_CPU_INLINE Vec round_to_half(Vec v) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm512_cvtps_ph(v, 0));
#elif defined(__AVX2__)
  return _mm256_cvtph_ps(_mm256_cvtps_ph(v, 0));
#else
  for (int i = 0; i < kLanes; ++i) v[i] = float_of(half_of(v[i]));
  return v;
#endif
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
