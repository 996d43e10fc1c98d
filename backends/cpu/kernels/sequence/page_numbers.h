#pragma once

// Numbers of fewer than 32 bits in pages of keys and values. Included by kernel sources only.

#include "core/simd.h"
#include "kernels/convert/half.h"
#include "kernels/sequence/round_rows.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// The first `n` numbers (0 <= n <= kLanes), widened, zeros behind; nothing past them is touched.
SLUICE_CPU_INLINE Vec load_first(const Half* p, int n) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1u), p));
#else
  Half first[kLanes] = {};
  __builtin_memcpy(first, p, static_cast<std::size_t>(n) * sizeof(Half));
  return load(first);
#endif
}

/// A number of a row of sluice::RoundRows, in units of the row's scale. Widening is exact.
struct Rounded {
  std::int8_t number;
};

/// kLanes numbers, widened.
SLUICE_CPU_INLINE Vec load(const Rounded* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
#else
  Vec v;
  for (int i = 0; i < kLanes; ++i) v[i] = p[i].number;
  return v;
#endif
}

/// The first `n` numbers (0 <= n <= kLanes), widened, zeros behind; nothing past them is touched.
SLUICE_CPU_INLINE Vec load_first(const Rounded* p, int n) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << n) - 1u);
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, p)));
#else
  Rounded first[kLanes] = {};
  __builtin_memcpy(first, p, static_cast<std::size_t>(n));
  return load(first);
#endif
}

/// What stands behind the numbers of a row, counted in them.
template <typename Number>
inline constexpr std::int64_t kBehind = 0;
template <>
inline constexpr std::int64_t kBehind<Rounded> = kScaleBytes;

/// The scale of the row that ends before `behind`.
SLUICE_CPU_INLINE float scale_at(const Rounded* behind) {
  float scale = 0;
  __builtin_memcpy(&scale, behind, sizeof scale);
  return scale;
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
