// One input, one output of the same shape: Sqrt, Abs, IsNaN, ...
#include <cmath>

#include "reference/arithmetic.h"
#include "reference/elementwise.h"
#include "reference/families.h"
#include "reference/small_elements.h"

namespace sluice::reference {
namespace {

struct Absolute {
  template <typename T>
  T operator()(T x) const {
    // std::fabs of an integer is a double, which rounds large ones.
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(x);
    else
      return is_negative(x) ? negate(x) : x;
  }
};

struct SignOf {
  template <typename T>
  T operator()(T x) const {
    return is_negative(x) ? T(-1) : x > T{0} ? T{1} : x;  // 0 and NaN stay
  }
};

template <typename Function>
Status test_small(const Call& call, const Function& function) {
  const std::vector<double> x = read_small(call.input(0));
  const auto y = call.output_elements<Bool>(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = function(x[i]);
  return plugin::ok();
}

Status check_predicate(const sluice_op& op) {
  const sluice_element_type type = op.inputs[0].tensor.element_type;
  if (op.num_inputs > 1) return refuse(op, "takes one input");
  return is_small(type) ? check_broadcast(op) : check_elementwise<kFloats>(op);
}

/// An element-wise test: floats in, including 8-bit floats; bools out.
template <typename Make>
KernelEntry predicate(const char* kind, Make /*stateless*/) {
  return {.kind = kind,
          .run =
              [](const Call& call) {
                const auto function = Make()(call.attributes());
                if (is_small(call.input(0).element_type)) return test_small(call, function);
                return dispatch(kFloats, call.input(0).element_type, [&]<typename T>() {
                  map_unary<T, Bool>(call, function);
                  return plugin::ok();
                });
              },
          .check = check_predicate,
          .result_type = bool_type};
}

auto is_nan(const Attributes& /*attributes*/) {
  return [](auto x) { return std::isnan(x); };
}

auto is_infinite(const Attributes& attributes) {
  const bool negative = attributes.get_int("detect_negative", 1) != 0;
  const bool positive = attributes.get_int("detect_positive", 1) != 0;
  return [=](auto x) { return std::isinf(x) && (x < 0 ? negative : positive); };
}

}  // namespace

std::vector<KernelEntry> elementwise_unary_kernels() {
  return {
      unary<kNumbers>("Abs", Absolute()),
      unary<kFloats>("Acos", [](auto x) { return std::acos(x); }),
      unary<kFloats>("Acosh", [](auto x) { return std::acosh(x); }),
      unary<kFloats>("Asin", [](auto x) { return std::asin(x); }),
      unary<kFloats>("Asinh", [](auto x) { return std::asinh(x); }),
      unary<kFloats>("Atan", [](auto x) { return std::atan(x); }),
      unary<kFloats>("Atanh", [](auto x) { return std::atanh(x); }),
      unary<kInts>("BitwiseNot", [](auto x) { return ~x; }),
      unary<kFloats>("Ceil", [](auto x) { return std::ceil(x); }),
      unary<kFloats>("Cos", [](auto x) { return std::cos(x); }),
      unary<kFloats>("Cosh", [](auto x) { return std::cosh(x); }),
      unary<kNumbers>("Erf", [](auto x) { return std::erf(x); }),
      unary<kFloats>("Exp", [](auto x) { return std::exp(x); }),
      unary<kFloats>("Floor", [](auto x) { return std::floor(x); }),
      predicate("IsInf", [](const Attributes& attributes) { return is_infinite(attributes); }),
      predicate("IsNaN", [](const Attributes& attributes) { return is_nan(attributes); }),
      unary<kFloats>("Log", [](auto x) { return std::log(x); }),
      unary<kFloats + kSignedInts>("Neg", [](auto x) { return negate(x); }),
      unary<kBools>("Not", [](bool x) { return !x; }),
      unary<kFloats>("Reciprocal", [](auto x) { return 1 / x; }),
      unary<kFloats>("Round", [](auto x) { return std::nearbyint(x); }),
      unary<kNumbers>("Sign", SignOf()),
      unary<kFloats>("Sin", [](auto x) { return std::sin(x); }),
      unary<kFloats>("Sinh", [](auto x) { return std::sinh(x); }),
      unary<kFloats>("Sqrt", [](auto x) { return std::sqrt(x); }),
      unary<kFloats>("Tan", [](auto x) { return std::tan(x); }),
      unary<kFloats>("Tanh", [](auto x) { return std::tanh(x); }),
  };
}

}  // namespace sluice::reference
