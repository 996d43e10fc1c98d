#pragma once

// Numbers of 16 bits that are the upper halves of floats. Included by kernel sources only.

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// As in memory. Widening is exact; arithmetic is in f32.
struct Bf16 {
  std::uint16_t bits;
};

/// kLanes numbers, widened.
SLUICE_CPU_INLINE Vec load(const Bf16* p) {
#if defined(__AVX512F__)
  const __m512i wide =
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
#elif defined(__AVX2__)
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
#else
  VecI wide;
  for (int i = 0; i < kLanes; ++i) wide[i] = static_cast<std::int32_t>(p[i].bits) << 16;
  return (Vec)wide;
#endif
}

/// Two vectors whose lanes alternate in memory: lane i of the first, then of the second. One
/// instruction widens each; neighbours in a vector take two.
SLUICE_CPU_INLINE void load_pair(const Bf16* p, Vec& first, Vec& second) {
  VecI both;
  __builtin_memcpy(&both, p, sizeof both);
  first = (Vec)(both << 16);
  second = (Vec)(both & static_cast<std::int32_t>(0xffff0000U));
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
