#pragma once

// One vector vocabulary, compiled once per instruction set.
//
// A kernel source includes this header, opens `namespace sluice::cpu::SLUICE_CPU_ISA` and is
// written in terms of `Vec` (kLanes floats) and `VecI` (as many 32-bit integers). CMake compiles it
// three times with other -m flags, so each instruction set gets its own namespace and its own
// symbols.
//
// Arithmetic operators are the compiler's own (vector extensions); here is what they lack. To keep
// code of one instruction set from being linked into another, kernel sources call no inline
// function with external linkage: no std::max, no std::vector, nothing but this header, plain C and
// structs.

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512VNNI__)
#define SLUICE_CPU_ISA avx512vnni
#define SLUICE_CPU_VECTOR_BYTES 64
#elif defined(__AVX512F__)
#define SLUICE_CPU_ISA avx512
#define SLUICE_CPU_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define SLUICE_CPU_ISA avx2
#define SLUICE_CPU_VECTOR_BYTES 32
#else
#define SLUICE_CPU_ISA portable
#define SLUICE_CPU_VECTOR_BYTES 16
#endif

#define SLUICE_CPU_INLINE static inline __attribute__((always_inline, unused))

// Before a loop over registers: unrolled early enough for the array to live in them.
#define SLUICE_CPU_UNROLL _Pragma("GCC unroll 32")

// Before a loop whose steps may meet in one element each, but not in those of other steps: it needs
// no second form for memory that overlaps. Clang would warn of loops that no vectors suit.
#if defined(__clang__)
#define SLUICE_CPU_INDEPENDENT
#else
#define SLUICE_CPU_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace sluice::cpu::SLUICE_CPU_ISA {

using Vec = float __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
using VecI = std::int32_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));

inline constexpr int kLanes = SLUICE_CPU_VECTOR_BYTES / 4;
/// The largest float that is no infinity (FLT_MAX).
inline constexpr float kMostFinite = 0x1.fffffep127F;

inline constexpr int kVectorRegisters = SLUICE_CPU_VECTOR_BYTES == 64 ? 32 : 16;

// ---- memory -------------------------------------------------------------------------------------

SLUICE_CPU_INLINE Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

SLUICE_CPU_INLINE void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }

SLUICE_CPU_INLINE Vec broadcast(float x) { return x - Vec{}; }

SLUICE_CPU_INLINE VecI broadcast_int(std::int32_t x) { return x - VecI{}; }

SLUICE_CPU_INLINE void prefetch(const void* p) { __builtin_prefetch(p, 0, 3); }

SLUICE_CPU_INLINE void prefetch_to_l2(const void* p) { __builtin_prefetch(p, 0, 2); }

/// Tiles of so few rows read their matrix faster than it arrives: they fetch it kStreamAheadBytes
/// ahead.
inline constexpr int kStreamRows = 4;

#if defined(__AVX512F__)

/// The first `n` floats (0 <= n <= kLanes), zeros behind; nothing past them is touched.
SLUICE_CPU_INLINE Vec load_first(const float* p, int n) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p);
}

SLUICE_CPU_INLINE void store_first(float* p, Vec v, int n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), v);
}

#elif defined(__AVX2__)

SLUICE_CPU_INLINE __m256i first_mask(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

SLUICE_CPU_INLINE Vec load_first(const float* p, int n) {
  return _mm256_maskload_ps(p, first_mask(n));
}

/// In parts of 4, 2 and 1: some processors take a masked store apart into dozens of steps.
SLUICE_CPU_INLINE void store_first(float* p, Vec v, int n) {
  if (n >= kLanes) return store(p, v);
  __m128 part = _mm256_castps256_ps128(v);
  if ((n & 4) != 0) {
    _mm_storeu_ps(p, part);
    part = _mm256_extractf128_ps(v, 1);
    p += 4;
  }
  if ((n & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), part);
    part = _mm_movehl_ps(part, part);
    p += 2;
  }
  if ((n & 1) != 0) _mm_store_ss(p, part);
}

#else

SLUICE_CPU_INLINE Vec load_first(const float* p, int n) {
  Vec v{};
  for (int i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

SLUICE_CPU_INLINE void store_first(float* p, Vec v, int n) {
  for (int i = 0; i < n; ++i) p[i] = v[i];
}

#endif

// ---- arithmetic ---------------------------------------------------------------------------------

/// a * b + c, rounded once where the instruction exists.
SLUICE_CPU_INLINE Vec fmadd(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

/// c - a * b.
SLUICE_CPU_INLINE Vec fnmadd(Vec a, Vec b, Vec c) { return fmadd(-a, b, c); }

/// Selects each lane from `a` where `mask` is all ones, from `b` where `mask` is zero.
SLUICE_CPU_INLINE Vec select(VecI mask, Vec a, Vec b) { return mask ? a : b; }

/// Smaller and larger of two; the second operand where either is NaN.
SLUICE_CPU_INLINE Vec min(Vec a, Vec b) {
#if defined(__AVX512F__)
  return _mm512_min_ps(a, b);
#elif defined(__AVX2__)
  return _mm256_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}

SLUICE_CPU_INLINE Vec max(Vec a, Vec b) {
#if defined(__AVX512F__)
  return _mm512_max_ps(a, b);
#elif defined(__AVX2__)
  return _mm256_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}

SLUICE_CPU_INLINE Vec abs(Vec x) { return (Vec)((VecI)x & broadcast_int(0x7fffffff)); }

SLUICE_CPU_INLINE Vec copy_sign(Vec magnitude, Vec sign) {
  const VecI bit = broadcast_int(INT32_MIN);
  return (Vec)(((VecI)magnitude & ~bit) | ((VecI)sign & bit));
}

SLUICE_CPU_INLINE Vec sqrt(Vec x) {
#if defined(__AVX512F__)
  return _mm512_sqrt_ps(x);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(x);
#elif defined(__SSE2__)
  return _mm_sqrt_ps(x);
#else
  Vec y;
  for (int i = 0; i < kLanes; ++i) y[i] = __builtin_sqrtf(x[i]);
  return y;
#endif
}

/// To the nearest integer as a float, ties to even; exact for |x| < 2^22.
SLUICE_CPU_INLINE Vec round_small(Vec x) {
  const Vec magic = broadcast(12582912.0f);  // 1.5 * 2^23
  Vec shifted = x + magic;
  asm("" : "+x"(shifted));  // keeps the pair from being folded away
  return shifted - magic;
}

SLUICE_CPU_INLINE VecI to_int(Vec x) { return __builtin_convertvector(x, VecI); }

// ---- across lanes -------------------------------------------------------------------------------

SLUICE_CPU_INLINE float reduce_add(Vec v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps(v);
#else
  float sums[kLanes];
  store(sums, v);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
#endif
}

SLUICE_CPU_INLINE float reduce_max(Vec v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps(v);
#else
  float best = v[0];
  for (int i = 1; i < kLanes; ++i) best = v[i] > best ? v[i] : best;
  return best;
#endif
}

SLUICE_CPU_INLINE float reduce_min(Vec v) { return -reduce_max(-v); }

// ---- functions ----------------------------------------------------------------------------------
// Polynomials are minimax fits in double, evaluated in float: within 2 units in the last place for
// exp, 4 for sigmoid, 6 for erf, 8 for tanh. Infinities and NaN come out as the C library's do.

/// 1 / x within 2 units in the last place, for 2^-126 <= |x| <= 2^126: a division takes as long as
/// eight multiply-adds where vectors are widest, so there it is an estimate and a Newton step.
SLUICE_CPU_INLINE Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
  const Vec estimate = _mm512_rcp14_ps(x);
  return fmadd(fnmadd(x, estimate, broadcast(1.0f)), estimate, estimate);
#else
  return broadcast(1.0f) / x;
#endif
}

/// x * 2^n for integral n in [-252, 254].
SLUICE_CPU_INLINE Vec scale_by_power(Vec x, Vec n) {
#if defined(__AVX512F__)
  return _mm512_scalef_ps(x, n);
#else
  const VecI whole = to_int(n);
  const VecI half = whole >> 1;
  const VecI bias = broadcast_int(127);
  return x * (Vec)((half + bias) << 23) * (Vec)((whole - half + bias) << 23);
#endif
}

/// exp(x) / 2^power - 1, for the integral `power` that is nearest to x / log(2).
SLUICE_CPU_INLINE Vec exp_tail(Vec x, Vec power) {
  Vec r = fnmadd(power, broadcast(0.693145752f), x);
  r = fnmadd(power, broadcast(1.42860677e-6f), r);
  Vec q = fmadd(r, broadcast(0.00139345450f), broadcast(0.00836377684f));
  q = fmadd(r, q, broadcast(0.0416664556f));
  q = fmadd(r, q, broadcast(0.166665733f));
  q = fmadd(r, q, broadcast(0.5f));
  return fmadd(r * r, q, r);
}

SLUICE_CPU_INLINE Vec exp(Vec x) {
  x = max(broadcast(-104.0f), min(broadcast(89.0f), x));
  const Vec power = round_small(x * broadcast(1.44269504f));
  return scale_by_power(exp_tail(x, power) + broadcast(1.0f), power);
}

/// Added to a number it leaves the nearest integer in the low bits, 127 more than it is: shifted
/// into the place of the exponent they are that power of two, infinite for 128.
inline constexpr float kPowerMagic = 12582912.0f + 127.0f;  // 1.5 * 2^23 and the exponent's bias

/// 2^n for magic_power = n + kPowerMagic, n integral in [-127, 128].
SLUICE_CPU_INLINE Vec power_in(Vec magic_power) { return (Vec)((VecI)magic_power << 23); }

/// 2^r for |r| <= 0.5.
SLUICE_CPU_INLINE Vec power_of_rest(Vec r) {
  Vec p = fmadd(r, broadcast(0.00132647272f), broadcast(0.00967151283f));
  p = fmadd(r, p, broadcast(0.0555073375f));
  p = fmadd(r, p, broadcast(0.240222421f));
  p = fmadd(r, p, broadcast(0.693146978f));
  return fmadd(r, p, broadcast(1.0f));
}

/// exp(x) for x <= 0 or NaN, in fewer steps than exp: what would be denormal may be 0. Where
/// multiply-adds round once it is 2^(n + r) with n + r = x log2(e); its relative error is at most
/// 2^-22 + |x| 2^-26 then.
#if defined(__FMA__)
SLUICE_CPU_INLINE Vec exp_of_negative(Vec x) {
  const Vec unit = broadcast(1.44269502f);
  const Vec magic = broadcast(kPowerMagic);
#if defined(__AVX512F__)
  x = max(broadcast(-104.0f), x);
#endif
  const Vec shifted = fmadd(x, unit, magic);
  const Vec power = shifted - magic;
  const Vec y = power_of_rest(fmadd(x, unit, -power));
#if defined(__AVX512F__)
  return scale_by_power(y, power);
#else
  return select(x < broadcast(-87.3f), Vec{}, y * power_in(shifted));
#endif
}
#else
SLUICE_CPU_INLINE Vec exp_of_negative(Vec x) {
  const Vec magic = broadcast(kPowerMagic);
  const Vec shifted = fmadd(x, broadcast(1.44269504f), magic);
  const Vec y = (exp_tail(x, shifted - magic) + broadcast(1.0f)) * power_in(shifted);
  return select(x < broadcast(-87.3f), Vec{}, y);
}
#endif

/// 2^x for x <= 127 or NaN: in fewer steps than exp, as the remainder needs no factor. What would
/// be denormal may be 0.
SLUICE_CPU_INLINE Vec exp2_below(Vec x) {
#if defined(__AVX512F__)
  x = max(broadcast(-150.0f), x);
  const Vec power = round_small(x);
  return scale_by_power(power_of_rest(x - power), power);
#else
  const Vec magic = broadcast(kPowerMagic);
  const Vec shifted = x + magic;
  const Vec y = power_of_rest(x - (shifted - magic)) * power_in(shifted);
  return select(x < broadcast(-126.0f), Vec{}, y);
#endif
}

/// 1 / (1 + exp(-x)). Where multiply-adds round once, exp(-x) is 2^(n + r) with n + r = -x log2(e).
/// `kSigmoidReachesZero`: the result for -infinity is 0, and otherwise as small as 1.6e-38.
#if defined(__FMA__)
inline constexpr bool kSigmoidReachesZero = kLanes == 8;

SLUICE_CPU_INLINE Vec sigmoid(Vec x) {
  // An estimate of the reciprocal of infinity would become a NaN; a division gives 0.
  const float lowest = kSigmoidReachesZero ? -88.72f : -87.0f;
  const Vec z = max(broadcast(lowest), min(broadcast(87.0f), x));
  const Vec magic = broadcast(kPowerMagic);
  const Vec shifted = fmadd(z, broadcast(-1.44269502f), magic);
  Vec r = fmadd(z, broadcast(-1.44269502f), magic - shifted);
  r = fmadd(z, broadcast(-1.92596299e-8f), r);
  return reciprocal(fmadd(power_of_rest(r), power_in(shifted), broadcast(1.0f)));
}
#else
inline constexpr bool kSigmoidReachesZero = false;

SLUICE_CPU_INLINE Vec sigmoid(Vec x) {
  const Vec z = max(broadcast(-87.0f), min(broadcast(87.0f), x));
  return reciprocal(broadcast(1.0f) + exp(-z));
}
#endif

/// x * P(x^2) / Q(x^2); tanh rounds to one from 9.02 on.
SLUICE_CPU_INLINE Vec tanh(Vec x) {
  x = max(broadcast(-9.02f), min(broadcast(9.02f), x));
  const Vec t = x * x;
  Vec p = fmadd(t, broadcast(1.331909596e-08f), broadcast(2.058349935e-05f));
  p = fmadd(t, p, broadcast(3.494035678e-03f));
  p = fmadd(t, p, broadcast(1.337971888e-01f));
  p = fmadd(t, p, broadcast(1.0f));
  Vec q = fmadd(t, broadcast(7.762029517e-07f), broadcast(3.283094658e-04f));
  q = fmadd(t, q, broadcast(2.587107746e-02f));
  q = fmadd(t, q, broadcast(4.671303412e-01f));
  q = fmadd(t, q, broadcast(1.0f));
  const Vec y = x * p * reciprocal(q);
  return max(broadcast(-1.0f), min(broadcast(1.0f), y));
}

/// x * P(x^2) / Q(x^2); erf rounds to one from 3.92 on.
SLUICE_CPU_INLINE Vec erf(Vec x) {
  const Vec a = min(broadcast(3.92f), abs(x));
  const Vec t = a * a;
  Vec p = fmadd(t, broadcast(1.986783075e-06f), broadcast(2.845634082e-04f));
  p = fmadd(t, p, broadcast(3.883275704e-03f));
  p = fmadd(t, p, broadcast(5.310154439e-02f));
  p = fmadd(t, p, broadcast(1.935436005e-01f));
  p = fmadd(t, p, broadcast(1.128379139e+00f));
  Vec q = fmadd(t, broadcast(3.742004768e-05f), broadcast(1.185552528e-03f));
  q = fmadd(t, q, broadcast(1.520711978e-02f));
  q = fmadd(t, q, broadcast(1.153493871e-01f));
  q = fmadd(t, q, broadcast(5.048561064e-01f));
  q = fmadd(t, q, broadcast(1.0f));
  const Vec saturated = select(a >= broadcast(3.92f), broadcast(1.0f), a * p * reciprocal(q));
  return copy_sign(saturated, x);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
