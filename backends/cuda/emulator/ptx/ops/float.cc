// Arithmetic of f32 and f64. What devices compute with one rounding has one rounding here.
#include <cfenv>

#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/fused.h"
#include "emulator/ptx/ops/rounding.h"
#include "emulator/ptx/ops/select_type.h"

namespace sluice::cuda::ptx {
namespace {

/// The unit's rounding mode while it lives; f64 has no wider type to round from.
class DirectedMode {
 public:
  explicit DirectedMode(Rounding rounding) {
    constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(kModes[static_cast<int>(rounding)]);
  }
  ~DirectedMode() { std::fesetround(FE_TONEAREST); }
  DirectedMode(const DirectedMode&) = delete;
  DirectedMode& operator=(const DirectedMode&) = delete;
};

// `error(a, b, result)` is what a double leaves of the exact result of two floats; its sign counts.
struct FAdd {
  template <class T>
  static T plain(T a, T b) {
    return a + b;
  }
  static double error(double a, double b, double sum) { return sum_error(a, b, sum); }
};
struct FSub {
  template <class T>
  static T plain(T a, T b) {
    return a - b;
  }
  static double error(double a, double b, double sum) { return sum_error(a, -b, sum); }
};
struct FMul {
  template <class T>
  static T plain(T a, T b) {
    return a * b;
  }
  static double error(double, double, double) { return 0; }
};
struct FDiv {
  template <class T>
  static T plain(T a, T b) {
    return a / b;
  }
  static double error(double a, double b, double quotient) {
    return std::copysign(1.0, b) * std::fma(-quotient, b, a);
  }
};

template <class Op>
struct Fast {
  template <class T>
  static T apply(T a, T b) {
    return Op::plain(a, b);
  }
};

template <class Op, class T>
T directed(Rounding rounding, T a, T b) {
  if constexpr (sizeof(T) == 4) {
    const double result = Op::plain(double{a}, double{b});
    return round_directed(result, Op::error(a, b, result), rounding);
  } else {
    const DirectedMode mode(rounding);
    const volatile double left = a, right = b;
    const volatile double result = Op::plain(double{left}, double{right});
    return result;
  }
}

/// With whatever modifiers.
template <class Op>
struct Full {
  template <class T>
  static T apply(Modifiers modifiers, T a, T b) {
    if (modifiers.has(kFlush)) a = flush(a), b = flush(b);
    const Rounding rounding = rounding_of(modifiers);
    const T result =
        rounding == Rounding::kNearest ? Op::plain(a, b) : directed<Op>(rounding, a, b);
    return finish_float(modifiers, result);
  }
};

struct FullFused {
  static float directed_fma(Rounding rounding, float a, float b, float c) {
    const double product = double{a} * double{b}, sum = product + c;
    return round_directed(sum, sum_error(product, c, sum), rounding);
  }
  static double directed_fma(Rounding rounding, double a, double b, double c) {
    const DirectedMode mode(rounding);
    const volatile double x = a, y = b, z = c;
    const volatile double result = std::fma(x, y, z);
    return result;
  }
  template <class T>
  static T apply(Modifiers modifiers, T a, T b, T c) {
    if (modifiers.has(kFlush)) a = flush(a), b = flush(b), c = flush(c);
    const Rounding rounding = rounding_of(modifiers);
    const T result =
        rounding == Rounding::kNearest ? std::fma(a, b, c) : directed_fma(rounding, a, b, c);
    return finish_float(modifiers, result);
  }
};

/// -0 is less than +0; NaN yields to a number, or wins with .NaN.
template <class T, bool kIsMax>
T extreme(Modifiers modifiers, T a, T b) {
  if (modifiers.has(kFlush)) a = flush(a), b = flush(b);
  if (std::isnan(a) || std::isnan(b)) {
    if (modifiers.has(kNan)) return std::numeric_limits<T>::quiet_NaN();
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) == kIsMax ? b : a;
  return (a < b) == kIsMax ? b : a;
}
struct FMin {
  template <class T>
  static T apply(Modifiers modifiers, T a, T b) {
    return extreme<T, false>(modifiers, a, b);
  }
};
struct FMax {
  template <class T>
  static T apply(Modifiers modifiers, T a, T b) {
    return extreme<T, true>(modifiers, a, b);
  }
};
struct FAbs {
  template <class T>
  static T apply(Modifiers modifiers, T a) {
    return std::abs(modifiers.has(kFlush) ? flush(a) : a);
  }
};
struct FNeg {
  template <class T>
  static T apply(Modifiers modifiers, T a) {
    return -(modifiers.has(kFlush) ? flush(a) : a);
  }
};

template <class Op>
Step binary_step(Type type, std::uint32_t modifiers) {
  return modifiers == 0 ? float_step<Fast<Op>>(type) : float_step<Full<Op>>(type);
}

Step step_of(std::string_view name, Type type, std::uint32_t modifiers) {
  if (name == "add") return binary_step<FAdd>(type, modifiers);
  if (name == "sub") return binary_step<FSub>(type, modifiers);
  if (name == "mul") return binary_step<FMul>(type, modifiers);
  if (name == "div") return binary_step<FDiv>(type, modifiers);
  if (name == "fma" || name == "mad")
    return modifiers == 0 ? fused_step(type) : float_step<FullFused>(type);
  if (name == "min") return float_step<FMin>(type);
  if (name == "max") return float_step<FMax>(type);
  if (name == "abs") return float_step<FAbs>(type);
  if (name == "neg") return float_step<FNeg>(type);
  return nullptr;
}

}  // namespace

void decode_float(Decoder& d, Type type) {
  const std::string_view name = d.family();
  d.instruction.modifiers = take_float_modifiers(d);
  if (name == "div") d.take_one_of({"approx", "full"});
  const std::size_t sources = name == "fma" || name == "mad"   ? 3
                              : name == "abs" || name == "neg" ? 1
                                                               : 2;
  d.need_operands(sources + 1, sources + 1);
  d.instruction.step = step_of(name, type, d.instruction.modifiers);
  if (d.instruction.step == nullptr) d.refuse_form();
  d.instruction.out = d.target(0, type);
  for (std::size_t i = 0; i < sources; ++i) d.instruction.in[i] = d.source(i + 1, type);
  d.finish();
}

}  // namespace sluice::cuda::ptx
