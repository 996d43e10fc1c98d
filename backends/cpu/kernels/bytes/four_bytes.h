#pragma once

// Products of bytes, four neighbours at a time, for kernels in 8 bits. One factor is unsigned, the
// other signed; sums are exact in 32 bits on every instruction set.

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

#if defined(__AVX512VNNI__)

using Four = VecI;  ///< four bytes per lane

SLUICE_CPU_INLINE Four unsigned_bytes(VecI x) { return x; }
SLUICE_CPU_INLINE Four signed_bytes(VecI x) { return x; }
SLUICE_CPU_INLINE VecI multiply_add(VecI sum, Four a, Four b) {
  return (VecI)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}

#elif defined(__SSE2__)

/// Four bytes per lane as two vectors of 16-bit numbers: the first and third, the second and
/// fourth.
struct Four {
  VecI even, odd;
};

#if defined(__AVX512F__)
SLUICE_CPU_INLINE VecI products(VecI a, VecI b) {
  return (VecI)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}
SLUICE_CPU_INLINE VecI sign_extended(VecI x) { return (VecI)_mm512_srai_epi16((__m512i)x, 8); }
SLUICE_CPU_INLINE VecI to_upper(VecI x) { return (VecI)_mm512_slli_epi16((__m512i)x, 8); }
SLUICE_CPU_INLINE VecI upper(VecI x) { return (VecI)_mm512_srli_epi16((__m512i)x, 8); }
#elif defined(__AVX2__)
SLUICE_CPU_INLINE VecI products(VecI a, VecI b) {
  return (VecI)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}
SLUICE_CPU_INLINE VecI sign_extended(VecI x) { return (VecI)_mm256_srai_epi16((__m256i)x, 8); }
SLUICE_CPU_INLINE VecI to_upper(VecI x) { return (VecI)_mm256_slli_epi16((__m256i)x, 8); }
SLUICE_CPU_INLINE VecI upper(VecI x) { return (VecI)_mm256_srli_epi16((__m256i)x, 8); }
#else
SLUICE_CPU_INLINE VecI products(VecI a, VecI b) {
  return (VecI)_mm_madd_epi16((__m128i)a, (__m128i)b);
}
SLUICE_CPU_INLINE VecI sign_extended(VecI x) { return (VecI)_mm_srai_epi16((__m128i)x, 8); }
SLUICE_CPU_INLINE VecI to_upper(VecI x) { return (VecI)_mm_slli_epi16((__m128i)x, 8); }
SLUICE_CPU_INLINE VecI upper(VecI x) { return (VecI)_mm_srli_epi16((__m128i)x, 8); }
#endif

SLUICE_CPU_INLINE Four unsigned_bytes(VecI x) { return {x & broadcast_int(0x00ff00ff), upper(x)}; }
SLUICE_CPU_INLINE Four signed_bytes(VecI x) {
  return {sign_extended(to_upper(x)), sign_extended(x)};
}
SLUICE_CPU_INLINE VecI multiply_add(VecI sum, Four a, Four b) {
  sum += products(a.even, b.even);
  asm("" : "+v"(sum));
  return sum + products(a.odd, b.odd);
}

#else

struct Four {
  VecI byte[4];
};

SLUICE_CPU_INLINE Four unsigned_bytes(VecI x) {
  const VecI mask = broadcast_int(0xff);
  return {{x & mask, (x >> 8) & mask, (x >> 16) & mask, (x >> 24) & mask}};
}
SLUICE_CPU_INLINE Four signed_bytes(VecI x) {
  return {{(x << 24) >> 24, (x << 16) >> 24, (x << 8) >> 24, x >> 24}};
}
SLUICE_CPU_INLINE VecI multiply_add(VecI sum, Four a, Four b) {
  for (int i = 0; i < 4; ++i) sum += a.byte[i] * b.byte[i];
  return sum;
}

#endif

SLUICE_CPU_INLINE VecI load_int(const void* p) {
  VecI v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

SLUICE_CPU_INLINE VecI broadcast_four(const std::uint8_t* bytes) {
  std::int32_t four;
#if defined(__AVX2__) && !defined(__AVX512VNNI__)
  // From memory straight into lanes. The compiler would mask the four bytes in a register of
  // integers first, and pay for the way from there.
  VecI lanes;
  asm("vpbroadcastd %1, %0"
      : "=v"(lanes)
      : "m"(*reinterpret_cast<const std::uint8_t(*)[sizeof four]>(bytes)));
  return lanes;
#else
  __builtin_memcpy(&four, bytes, sizeof four);
  return broadcast_int(four);
#endif
}

// How a kernel reads and multiplies groups of four: `left` spreads one group over all lanes,
// `right` loads a group of each of kLanes columns. `kBytes` is the size of a number in memory.

/// Any bytes by any.
struct AnyBytes {
  using Bytes = Four;
  static constexpr int kBytes = 1;
  __attribute__((always_inline)) static Four left(const std::uint8_t* p) {
    return unsigned_bytes(broadcast_four(p));
  }
  __attribute__((always_inline)) static Four right(const std::int8_t* p) {
    return signed_bytes(load_int(p));
  }
  __attribute__((always_inline)) static VecI add(VecI sum, const Four& a, const Four& b) {
    return multiply_add(sum, a, b);
  }
};

#if defined(__AVX2__) && !defined(__AVX512VNNI__)

/// Bytes by narrow ones (kMostOfNarrowPair): a pair of products fits 16 bits, so one instruction
/// multiplies all bytes as they are, and another one adds two pairs.
struct NarrowBytes {
  using Bytes = VecI;
  static constexpr int kBytes = 1;
  __attribute__((always_inline)) static VecI left(const std::uint8_t* p) {
    return broadcast_four(p);
  }
  __attribute__((always_inline)) static VecI right(const std::int8_t* p) { return load_int(p); }
  __attribute__((always_inline)) static VecI add(VecI sum, VecI a, VecI b) {
#if defined(__AVX512F__)
    const VecI pairs = (VecI)_mm512_maddubs_epi16((__m512i)a, (__m512i)b);
#else
    const VecI pairs = (VecI)_mm256_maddubs_epi16((__m256i)a, (__m256i)b);
#endif
    return sum + products(pairs, broadcast_int(0x00010001));
  }
};

/// Any bytes by any, both widened before (kernels/bytes/wide_bytes.h).
struct WideBytes {
  using Bytes = Four;
  static constexpr int kBytes = 2;
  __attribute__((always_inline)) static Four left(const std::uint8_t* p) {
    return {broadcast_four(p), broadcast_four(p + 4)};
  }
  __attribute__((always_inline)) static Four right(const std::int8_t* p) {
    return {load_int(p), load_int(p + sizeof(VecI))};
  }
  __attribute__((always_inline)) static VecI add(VecI sum, const Four& a, const Four& b) {
    return multiply_add(sum, a, b);
  }
};
inline constexpr bool kNarrowIsFaster = true;

#else

using NarrowBytes = AnyBytes;
using WideBytes = AnyBytes;
inline constexpr bool kNarrowIsFaster = false;

#endif

}  // namespace sluice::cpu::SLUICE_CPU_ISA
