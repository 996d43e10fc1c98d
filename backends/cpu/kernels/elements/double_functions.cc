#include "kernels/elements/double_functions.h"

#include "kernels/elements/double_vectors.h"

// From libm, without <cmath>: see core/simd.h.
extern "C" {
double cos(double);
double log(double);
double sin(double);
}

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

SLUICE_CPU_INLINE Doubles sigmoid_of(Doubles x) { return 1.0 / (exp_of(-x) + 1.0); }

/// (e - 1) / (e + 1) with e = exp(2|x|), e - 1 kept accurate near zero.
SLUICE_CPU_INLINE Doubles tanh_of(Doubles x) {
  const Doubles twice = size_of(x) * 2.0;
  const Exponential e = exponential(twice > 40.0 ? all_of(40.0) : twice);
  const Doubles scale = e.low * e.high;
  const Doubles minus_one = e.tail * scale + (scale - 1.0);
  return with_sign(minus_one / (minus_one + 2.0), x);
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
