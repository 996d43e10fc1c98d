#pragma once

// Logarithms and functions of angles in vectors. Included by kernel sources only.
//
// Polynomials are minimax fits in double, evaluated in float: within 2 units in the last place for
// log, 3 for sin, cos, asin, atan and log1p, 4 for the others, as functions_test.cc measures.
// What a formula does not cover, a few lanes of infinities and of huge or denormal numbers, the C
// library computes.

#include "core/simd.h"
#include "kernels/rows/row_folds.h"

// From libm, declared here: <cmath> would bring inline functions (see core/simd.h).
extern "C" {
float logf(float);
float sinf(float);
float cosf(float);
float tanf(float);
}

namespace sluice::cpu::SLUICE_CPU_ISA {

SLUICE_CPU_INLINE Vec each_lane(Vec x, float (*f)(float)) {
  Vec y;
  for (int i = 0; i < kLanes; ++i) y[i] = f(x[i]);
  return y;
}

/// `y`, but f(x) in the lanes of `mask`.
SLUICE_CPU_INLINE Vec where_outside(VecI mask, Vec x, Vec y, float (*f)(float)) {
  if (!any(mask)) return y;
  for (int i = 0; i < kLanes; ++i) {
    if (mask[i] != 0) y[i] = f(x[i]);
  }
  return y;
}

// ---- logarithms

/// log(x) for normal, finite x > 0: x = 2^n * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). Lanes of
/// others get any number.
SLUICE_CPU_INLINE Vec log_normal(Vec x) {
  using Bits = std::uint32_t __attribute__((vector_size(sizeof(VecI))));  // they may wrap
  const VecI root_half = broadcast_int(0x3f3504f3);
  const auto above = (VecI)((Bits)x - (Bits)root_half);
  const Vec power = __builtin_convertvector(above >> 23, Vec);
  const Vec f = (Vec)((above & broadcast_int(0x007fffff)) + root_half) - broadcast(1.0f);
  Vec p = fmadd(f, broadcast(6.915368140e-02f), broadcast(-1.178980768e-01f));
  p = fmadd(f, p, broadcast(1.187297627e-01f));
  p = fmadd(f, p, broadcast(-1.238434836e-01f));
  p = fmadd(f, p, broadcast(1.421865821e-01f));
  p = fmadd(f, p, broadcast(-1.666925102e-01f));
  p = fmadd(f, p, broadcast(2.000222653e-01f));
  p = fmadd(f, p, broadcast(-2.499998659e-01f));
  p = fmadd(f, p, broadcast(3.333331048e-01f));
  // log(2) in two parts, so that the first times a power is exact.
  const Vec square = f * f;
  Vec low = fmadd(power, broadcast(1.42860677e-6f), f * square * p);
  low = fmadd(square, broadcast(-0.5f), low);
  return fmadd(power, broadcast(0.693145752f), f + low);
}

SLUICE_CPU_INLINE Vec log(Vec x) {
  const VecI is_normal = (x >= broadcast(1.17549435e-38f)) & (x < broadcast(__builtin_inff()));
  return where_outside(~is_normal, x, log_normal(x), logf);
}

/// log(1 + x) for 0 <= x <= 1 or NaN: what 1 + x rounds away comes back as its share of the result.
SLUICE_CPU_INLINE Vec log_one_plus(Vec x) {
  const Vec sum = x + broadcast(1.0f);
  const Vec lost = x - (sum - broadcast(1.0f));
  const Vec y = log_normal(sum) + lost / sum;
  return select(x == x, y, x);
}

// ---- sine, cosine, tangent

#if defined(__FMA__)

/// An angle less its nearest multiple of pi/2, of which `quarter` has the number.
struct Angle {
  Vec rest;  ///< at most pi/4 either way
  VecI quarter;
  VecI is_outside;  ///< too large, infinite or NaN
};

/// Exact enough up to 2^16: pi/2 is three floats, and multiply-adds round once.
SLUICE_CPU_INLINE Angle angle_of(Vec x) {
  const VecI is_inside = abs(x) <= broadcast(65536.0f);
  const Vec count = round_small(x * broadcast(0.636619772f));
  Vec rest = fnmadd(count, broadcast(1.57079637f), x);
  rest = fnmadd(count, broadcast(-4.37113883e-08f), rest);
  rest = fnmadd(count, broadcast(-1.71512451e-15f), rest);
  // An angle below pi/4 is its own rest, and a zero keeps its sign.
  rest = select(count == Vec{}, x, rest);
  return {rest, to_int(select(is_inside, count, Vec{})), ~is_inside};
}

SLUICE_CPU_INLINE Vec sine_of(Vec rest, Vec square) {
  Vec p = fmadd(square, broadcast(2.718237283e-06f), broadcast(-1.983932743e-04f));
  p = fmadd(square, p, broadcast(8.333329111e-03f));
  p = fmadd(square, p, broadcast(-1.666666716e-01f));
  return select(rest == Vec{}, rest, fmadd(rest * square, p, rest));
}

SLUICE_CPU_INLINE Vec cosine_of(Vec square) {
  Vec p = fmadd(square, broadcast(2.443772792e-05f), broadcast(-1.388736186e-03f));
  p = fmadd(square, p, broadcast(4.166664556e-02f));
  return fmadd(square * square, p, fmadd(square, broadcast(-0.5f), broadcast(1.0f)));
}

/// The sine of `rest` plus `quarter` times pi/2.
SLUICE_CPU_INLINE Vec sine_from(Vec rest, VecI quarter) {
  const Vec square = rest * rest;
  const VecI is_odd = (quarter & broadcast_int(1)) != VecI{};
  const Vec size = select(is_odd, cosine_of(square), sine_of(rest, square));
  return (Vec)((VecI)size ^ ((quarter & broadcast_int(2)) << 30));
}

SLUICE_CPU_INLINE Vec sin(Vec x) {
  const Angle angle = angle_of(x);
  return where_outside(angle.is_outside, x, sine_from(angle.rest, angle.quarter), sinf);
}

SLUICE_CPU_INLINE Vec cos(Vec x) {
  const Angle angle = angle_of(x);
  const Vec y = sine_from(angle.rest, angle.quarter + broadcast_int(1));
  return where_outside(angle.is_outside, x, y, cosf);
}

SLUICE_CPU_INLINE Vec tan(Vec x) {
  const Angle angle = angle_of(x);
  const Vec square = angle.rest * angle.rest;
  const Vec sine = sine_of(angle.rest, square);
  const Vec cosine = cosine_of(square);
  const VecI is_odd = (angle.quarter & broadcast_int(1)) != VecI{};
  const Vec y = select(is_odd, -cosine, sine) / select(is_odd, sine, cosine);
  return where_outside(angle.is_outside, x, y, tanf);
}

#else

SLUICE_CPU_INLINE Vec sin(Vec x) { return each_lane(x, sinf); }
SLUICE_CPU_INLINE Vec cos(Vec x) { return each_lane(x, cosf); }
SLUICE_CPU_INLINE Vec tan(Vec x) { return each_lane(x, tanf); }

#endif

// ---- and back

/// asin(x) for |x| <= 1/2, of whose square the polynomial is.
SLUICE_CPU_INLINE Vec asin_small(Vec x, Vec square) {
  Vec p = fmadd(square, broadcast(4.221854731e-02f), broadcast(2.414761297e-02f));
  p = fmadd(square, p, broadcast(4.547709599e-02f));
  p = fmadd(square, p, broadcast(7.495241612e-02f));
  p = fmadd(square, p, broadcast(1.666675359e-01f));
  return fmadd(x * square, p, x);
}

/// Beyond 1/2 by way of half the angle: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). Beyond 1 the
/// root is a NaN.
struct HalfAngle {
  VecI is_large;
  Vec small;  ///< asin of |x|, or of the root
};

SLUICE_CPU_INLINE HalfAngle half_angle(Vec x) {
  const Vec size = abs(x);
  const VecI is_large = size > broadcast(0.5f);
  const Vec half = fnmadd(size, broadcast(0.5f), broadcast(0.5f));
  const Vec square = select(is_large, half, size * size);
  return {is_large, asin_small(select(is_large, sqrt(half), size), square)};
}

SLUICE_CPU_INLINE Vec asin(Vec x) {
  const HalfAngle half = half_angle(x);
  const Vec large = fnmadd(half.small, broadcast(2.0f), broadcast(1.57079633f));
  return copy_sign(select(half.is_large, large, half.small), x);
}

SLUICE_CPU_INLINE Vec acos(Vec x) {
  const HalfAngle half = half_angle(x);
  const VecI is_negative = x < Vec{};
  const Vec twice = half.small + half.small;
  const Vec large = select(is_negative, broadcast(3.14159265f) - twice, twice);
  const Vec small = broadcast(1.57079633f) - copy_sign(half.small, x);
  return select(half.is_large, large, small);
}

/// Reduced to at most tan(pi/8): atan(x) = pi/2 - atan(1 / x), and pi/4 + atan((x - 1) / (x + 1)).
SLUICE_CPU_INLINE Vec atan(Vec x) {
  const Vec size = abs(x);
  const VecI is_far = size > broadcast(2.41421356f);
  const VecI is_middle = size > broadcast(0.414213562f);
  const Vec one = broadcast(1.0f);
  const Vec above = select(is_far, -one, select(is_middle, size - one, size));
  const Vec below = select(is_far, size, select(is_middle, size + one, one));
  const Vec from =
      select(is_far, broadcast(1.57079633f), select(is_middle, broadcast(0.785398163f), Vec{}));
  const Vec t = above / below;
  const Vec square = t * t;
  Vec p = fmadd(square, broadcast(-6.083215773e-02f), broadcast(1.059591174e-01f));
  p = fmadd(square, p, broadcast(-1.424383670e-01f));
  p = fmadd(square, p, broadcast(1.999848932e-01f));
  p = fmadd(square, p, broadcast(-3.333331645e-01f));
  return copy_sign(from + fmadd(t * square, p, t), x);
}

// ---- hyperbolic functions

/// exp(x) / 2 for x >= 0 or NaN: finite a little longer than exp(x).
SLUICE_CPU_INLINE Vec half_exp(Vec x) {
  x = min(broadcast(90.0f), x);
  const Vec power = round_small(x * broadcast(1.44269504f));
  return scale_by_power(exp_tail(x, power) + broadcast(1.0f), power - broadcast(1.0f));
}

SLUICE_CPU_INLINE Vec cosh(Vec x) {
  const Vec half = half_exp(abs(x));
  return half + broadcast(0.25f) / half;
}

/// Below 1, where the halves cancel, by the Taylor series.
SLUICE_CPU_INLINE Vec sinh(Vec x) {
  const Vec size = abs(x);
  const Vec square = size * size;
  Vec p = fmadd(square, broadcast(2.50521084e-08f), broadcast(2.75573192e-06f));
  p = fmadd(square, p, broadcast(1.98412698e-04f));
  p = fmadd(square, p, broadcast(8.33333333e-03f));
  p = fmadd(square, p, broadcast(1.66666667e-01f));
  const Vec half = half_exp(size);
  const VecI is_small = size < broadcast(1.0f);
  const Vec large = half - broadcast(0.25f) / half;
  return copy_sign(select(is_small, fmadd(size * square, p, size), large), x);
}

/// From here on the square of a number hides one that is added to it.
inline constexpr float kHidesOne = 1e4f;

/// log(2 x) for x >= kHidesOne, log(x + root) for others.
SLUICE_CPU_INLINE Vec log_of_sum(Vec x, Vec root) {
  const VecI is_huge = x >= broadcast(kHidesOne);
  const Vec y = log(select(is_huge, x, x + root));
  return select(is_huge, y + broadcast(0.693147181f), y);
}

/// log(1 + x + x^2 / (1 + root)) with root = sqrt(1 + x^2), which is small for small x.
SLUICE_CPU_INLINE Vec asinh(Vec x) {
  const Vec one = broadcast(1.0f);
  const Vec size = abs(x);
  const Vec root = sqrt(fmadd(size, size, one));
  const Vec small = log_one_plus(size + size * size / (one + root));
  const VecI is_small = size < broadcast(0.75f);
  // A number that the first form covers leaves no work for the library in the second.
  const Vec large = log_of_sum(select(is_small, one, size), root);
  return copy_sign(select(is_small, small, large), x);
}

/// log(1 + t + sqrt(t (t + 2))) with t = x - 1.
SLUICE_CPU_INLINE Vec acosh(Vec x) {
  const Vec one = broadcast(1.0f);
  const Vec t = x - one;
  const Vec root = sqrt(t * (t + broadcast(2.0f)));
  const VecI is_small = t < broadcast(0.25f);
  const Vec large = log_of_sum(select(is_small, one, x), root);
  const Vec y = select(is_small, log_one_plus(t + root), large);
  return select(x >= one, y, broadcast(__builtin_nanf("")));
}

/// log((1 + |x|) / (1 - |x|)) / 2.
SLUICE_CPU_INLINE Vec atanh(Vec x) {
  const Vec one = broadcast(1.0f);
  const Vec size = abs(x);
  const VecI is_small = size < broadcast(0.33f);
  const Vec small = log_one_plus((size + size) / (one - size));
  const Vec large = log(select(is_small, one, (one + size) / (one - size)));
  return copy_sign(select(is_small, small, large) * broadcast(0.5f), x);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
