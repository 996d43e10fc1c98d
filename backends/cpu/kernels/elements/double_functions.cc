#include "kernels/elements/double_functions.h"

#include "core/simd.h"

// From libm, without <cmath>: see core/simd.h.
extern "C" {
double cos(double);
double log(double);
double sin(double);
}

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

using Doubles = double __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
using Bits = std::uint64_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
using Mask = std::int64_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
constexpr int kDoubles = SLUICE_CPU_VECTOR_BYTES / 8;

/// Added to a number below 2^51, it leaves the nearest integer in the low bits: 1.5 * 2^52.
constexpr double kMagic = 6755399441055744.0;
constexpr double kLog2E = 1.4426950408889634;
// log(2) in two parts, so that the first times an exponent is exact.
constexpr double kLog2High = 0.693147180369123816490;
constexpr double kLog2Low = 1.90821492927058770002e-10;

SLUICE_CPU_INLINE Doubles all_of(double x) { return x - Doubles{}; }
SLUICE_CPU_INLINE Doubles choose(Mask mask, Doubles a, Doubles b) { return mask ? a : b; }
SLUICE_CPU_INLINE Doubles size_of(Doubles x) { return (Doubles)((Bits)x & 0x7fffffffffffffffU); }
SLUICE_CPU_INLINE Doubles with_sign(Doubles size, Doubles sign) {
  return (Doubles)((Bits)size | ((Bits)sign & 0x8000000000000000U));
}

/// exp(x) = (1 + tail) * low * high, of which the last two are powers of two: their product may
/// have an exponent that a double has not.
struct Exponential {
  Doubles tail;
  Doubles low;
  Doubles high;
};

/// By the Taylor series of what is left of x once the nearest multiple of log(2) is taken: at most
/// log(2) / 2, so that the term after the last is 2^-59 of the sum.
SLUICE_CPU_INLINE Exponential exponential(Doubles x) {
  // A NaN passes these: a comparison with it is false.
  x = x > 710.0 ? all_of(710.0) : x;
  x = x < -746.0 ? all_of(-746.0) : x;
  const Doubles shifted = x * kLog2E + kMagic;
  const Doubles power = shifted - kMagic;
  const Doubles r = (x - power * kLog2High) - power * kLog2Low;
  Doubles p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const Bits biased = (Bits)shifted - (Bits)all_of(kMagic) + 2 * 1023;
  const Bits half = biased >> 1;
  return {r * r * p + r, (Doubles)(half << 52), (Doubles)((biased - half) << 52)};
}

SLUICE_CPU_INLINE Doubles exp_of(Doubles x) {
  const Exponential e = exponential(x);
  return (e.tail + 1.0) * e.low * e.high;
}

SLUICE_CPU_INLINE Doubles sigmoid_of(Doubles x) { return 1.0 / (exp_of(-x) + 1.0); }

/// (e - 1) / (e + 1) with e = exp(2|x|), e - 1 kept accurate near zero.
SLUICE_CPU_INLINE Doubles tanh_of(Doubles x) {
  const Doubles twice = size_of(x) * 2.0;
  const Exponential e = exponential(twice > 40.0 ? all_of(40.0) : twice);
  const Doubles scale = e.low * e.high;
  const Doubles minus_one = e.tail * scale + (scale - 1.0);
  return with_sign(minus_one / (minus_one + 2.0), x);
}

/// The logarithm of normal, finite x > 0: x = 2^n * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). With
/// s = f / (2 + f), log(1 + f) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 ..., where 2 s = f - f^2/2 + s f^2/2.
SLUICE_CPU_INLINE Doubles log_normal(Doubles x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdU;
  const Bits above = (Bits)x - kRootHalf + 0x3ff0000000000000U;
  const Doubles power = (Doubles)((above >> 52) - 1023 + (Bits)all_of(kMagic)) - kMagic;
  const Doubles f = (Doubles)((above & 0x000fffffffffffffU) + kRootHalf) - 1.0;
  const Doubles s = f / (f + 2.0);
  const Doubles square = s * s;
  Doubles p = square * (2.0 / 23) + 2.0 / 21;
  p = p * square + 2.0 / 19;
  p = p * square + 2.0 / 17;
  p = p * square + 2.0 / 15;
  p = p * square + 2.0 / 13;
  p = p * square + 2.0 / 11;
  p = p * square + 2.0 / 9;
  p = p * square + 2.0 / 7;
  p = p * square + 2.0 / 5;
  p = p * square + 2.0 / 3;
  const Doubles half = f * f * 0.5;
  const Doubles low = s * (half + square * p) + power * kLog2Low;
  return power * kLog2High + (f - (half - low));
}

/// The C library computes lanes of infinities, NaNs, denormal and negative numbers, and zeros.
SLUICE_CPU_INLINE Doubles log_of(Doubles x) {
  Doubles y = log_normal(x);
  for (int i = 0; i < kDoubles; ++i) {
    const bool is_normal = x[i] >= 2.2250738585072014e-308 && x[i] < __builtin_inf();
    if (!is_normal) y[i] = log(x[i]);
  }
  return y;
}

template <TypedOp kOp>
SLUICE_CPU_INLINE Doubles apply(Doubles x) {
  if constexpr (kOp == TypedOp::kExp) return exp_of(x);
  if constexpr (kOp == TypedOp::kLog) return log_of(x);
  if constexpr (kOp == TypedOp::kSigmoid) return sigmoid_of(x);
  if constexpr (kOp == TypedOp::kTanh) return tanh_of(x);
  if constexpr (kOp == TypedOp::kReciprocal) return 1.0 / x;
  if constexpr (kOp == TypedOp::kSin || kOp == TypedOp::kCos) {
    for (int i = 0; i < kDoubles; ++i) x[i] = kOp == TypedOp::kSin ? sin(x[i]) : cos(x[i]);
    return x;
  }
  if constexpr (kOp == TypedOp::kSqrt) {
    for (int i = 0; i < kDoubles; ++i) x[i] = __builtin_sqrt(x[i]);
    return x;
  }
}

template <TypedOp kOp>
void loop(const void* x_data, std::int64_t x_step, const void* /*b*/, std::int64_t /*b_step*/,
          void* y_data, std::int64_t count) {
  const auto* x = static_cast<const double*>(x_data);
  auto* y = static_cast<double*>(y_data);
  Doubles some = all_of(1.0);
  if (x_step == 0 && count > 0) some = apply<kOp>(all_of(*x));
  std::int64_t i = 0;
  for (; i + kDoubles <= count; i += kDoubles) {
    if (x_step != 0) {
      __builtin_memcpy(&some, x + i, sizeof some);
      some = apply<kOp>(some);
    }
    __builtin_memcpy(y + i, &some, sizeof some);
  }
  if (i == count) return;
  const auto left = static_cast<std::size_t>(count - i) * sizeof(double);
  if (x_step != 0) {
    some = all_of(1.0);
    __builtin_memcpy(&some, x + i, left);
    some = apply<kOp>(some);
  }
  __builtin_memcpy(y + i, &some, left);
}

}  // namespace

TypedLoop double_function(TypedOp op) {
  switch (op) {
    case TypedOp::kCos: return loop<TypedOp::kCos>;
    case TypedOp::kExp: return loop<TypedOp::kExp>;
    case TypedOp::kLog: return loop<TypedOp::kLog>;
    case TypedOp::kReciprocal: return loop<TypedOp::kReciprocal>;
    case TypedOp::kSigmoid: return loop<TypedOp::kSigmoid>;
    case TypedOp::kSin: return loop<TypedOp::kSin>;
    case TypedOp::kSqrt: return loop<TypedOp::kSqrt>;
    case TypedOp::kTanh: return loop<TypedOp::kTanh>;
    default: return nullptr;
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
