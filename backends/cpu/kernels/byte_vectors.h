#pragma once

// Bytes in lanes of 32 bits.

#include "simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

using Bytes = std::uint8_t __attribute__((vector_size(kLanes)));
using SignedBytes = std::int8_t __attribute__((vector_size(kLanes)));

template <typename T = Bytes>
SLUICE_CPU_INLINE Vec load_bytes(const std::uint8_t* p) {
  T bytes;
  __builtin_memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(__builtin_convertvector(bytes, VecI), Vec);
}

/// The low byte of each lane.
SLUICE_CPU_INLINE void store_bytes(std::uint8_t* p, VecI v) {
  const Bytes bytes = __builtin_convertvector(v, Bytes);
  __builtin_memcpy(p, &bytes, sizeof bytes);
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
