#pragma once

// Bytes in lanes of 32 bits.

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

// Numbers of the bytes at `p`, with or without sign, and the low byte of each number. GCC 12 takes
// generic conversions of so few bytes apart, so the instructions are named.

#if defined(__AVX512F__)
SLUICE_CPU_INLINE VecI widen_bytes(const std::uint8_t* p) {
  return (VecI)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
SLUICE_CPU_INLINE VecI widen_signed_bytes(const std::uint8_t* p) {
  return (VecI)_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
SLUICE_CPU_INLINE void store_bytes(std::uint8_t* p, VecI v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8((__m512i)v));
}
#elif defined(__AVX2__)
SLUICE_CPU_INLINE VecI widen_bytes(const std::uint8_t* p) {
  return (VecI)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
SLUICE_CPU_INLINE VecI widen_signed_bytes(const std::uint8_t* p) {
  return (VecI)_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
SLUICE_CPU_INLINE void store_bytes(std::uint8_t* p, VecI v) {
  const __m256i low = _mm256_shuffle_epi8(
      (__m256i)v, _mm256_broadcastsi128_si256(
                      _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)));
  const std::int32_t halves[2] = {_mm_cvtsi128_si32(_mm256_castsi256_si128(low)),
                                  _mm_cvtsi128_si32(_mm256_extracti128_si256(low, 1))};
  __builtin_memcpy(p, halves, sizeof halves);
}
#else
SLUICE_CPU_INLINE VecI widen_bytes(const std::uint8_t* p) {
  VecI v;
  for (int i = 0; i < kLanes; ++i) v[i] = p[i];
  return v;
}
SLUICE_CPU_INLINE VecI widen_signed_bytes(const std::uint8_t* p) {
  return (widen_bytes(p) << 24) >> 24;
}
SLUICE_CPU_INLINE void store_bytes(std::uint8_t* p, VecI v) {
  for (int i = 0; i < kLanes; ++i) p[i] = static_cast<std::uint8_t>(v[i]);
}
#endif

SLUICE_CPU_INLINE Vec load_bytes(const std::uint8_t* p) {
  return __builtin_convertvector(widen_bytes(p), Vec);
}

/// To the nearest integer, ties to even. Requires: |x| < 2^22.
SLUICE_CPU_INLINE VecI to_nearest_int(Vec x) {
#if defined(__AVX512F__)
  return (VecI)_mm512_cvtps_epi32(x);
#elif defined(__AVX2__)
  return (VecI)_mm256_cvtps_epi32(x);
#else
  return to_int(round_small(x));
#endif
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
