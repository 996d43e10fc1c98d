// Activation functions. Constants come from attributes, as the schemas complete them.
#include <algorithm>
#include <cmath>

#include "reference/arithmetic.h"
#include "reference/elementwise.h"
#include "reference/families.h"

namespace sluice::reference {
namespace {

template <typename T>
T clamp_to_unit(T x) {
  return std::min(std::max(x, T{0}), T{1});
}

/// log(1 + exp(x)) without overflow.
template <typename T>
T softplus(T x) {
  // exp of a negative number only, which cannot overflow.
  return std::max(x, T{0}) + std::log1p(std::exp(-std::fabs(x)));
}

template <typename T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

struct Elu {
  float alpha;
  template <typename T>
  T operator()(T x) const {
    // expm1 keeps the digits that exp(x) - 1 would lose near 0.
    return x > 0 ? x : alpha * std::expm1(x);
  }
};

struct Celu {
  float alpha;
  template <typename T>
  T operator()(T x) const {
    return x > 0 ? x : alpha * std::expm1(x / alpha);
  }
};

struct Gelu {
  bool is_tanh;
  template <typename T>
  T operator()(T x) const {
    constexpr T kSqrtHalf = T(0.70710678118654752440);
    constexpr T kSqrtTwoOverPi = T(0.79788456080286535588);
    if (!is_tanh) return T(0.5) * x * (1 + std::erf(x * kSqrtHalf));
    return T(0.5) * x * (1 + std::tanh(kSqrtTwoOverPi * (x + T(0.044715) * x * x * x)));
  }
};

struct Shrink {
  double bias, threshold;
  template <typename T>
  T operator()(T x) const {
    const auto value = static_cast<double>(x);
    if (value < -threshold) return convert<T>(value + bias);
    if (value > threshold) return convert<T>(value - bias);
    return T{0};
  }
};

/// Only the modes that the schema's documentation names.
Status check_gelu(const sluice_op& op) {
  const std::string_view mode = Attributes(op).get_text("approximate", "none");
  if (mode != "none" && mode != "tanh") {
    return refuse(op, "approximate must be none or tanh");
  }
  return check_unary<kFloats>(op);
}

KernelEntry gelu() {
  KernelEntry entry = unary_with<kFloats>("Gelu", [](const Attributes& attributes) {
    return Gelu{attributes.get_text("approximate", "none") == "tanh"};
  });
  entry.check = check_gelu;
  return entry;
}

Status run_swiglu(const Call& call) {
  const float alpha = call.attributes().get_float("alpha", 1);
  return dispatch(kFloats, call.input(0).element_type, [&]<typename T>() {
    map_binary<T, T>(call, [alpha](auto a, auto b) {
      return a * sigmoid(static_cast<decltype(a)>(alpha) * a) * b;
    });
    return plugin::ok();
  });
}

}  // namespace

std::vector<KernelEntry> activation_kernels() {
  return {
      unary_with<kFloats>("Celu",
                          [](const Attributes& a) { return Celu{a.get_float("alpha", 1)}; }),
      unary_with<kFloats>("Elu", [](const Attributes& a) { return Elu{a.get_float("alpha", 1)}; }),
      gelu(),
      unary_with<kFloats>("HardSigmoid",
                          [](const Attributes& a) {
                            return [alpha = a.get_float("alpha", 0.2F),
                                    beta = a.get_float("beta", 0.5F)](auto x) {
                              return clamp_to_unit(alpha * x + beta);
                            };
                          }),
      unary<kFloats>("HardSwish",
                     [](auto x) { return x * clamp_to_unit(x / 6 + decltype(x)(0.5)); }),
      unary_with<kFloats>("LeakyRelu",
                          [](const Attributes& a) {
                            return [alpha = a.get_float("alpha", 0.01F)](auto x) {
                              return x < 0 ? alpha * x : x;
                            };
                          }),
      unary<kFloats>("Mish", [](auto x) { return x * std::tanh(softplus(x)); }),
      unary<kFloats + kSignedInts>("Relu", [](auto x) { return x < 0 ? 0 : x; }),
      unary_with<kFloats>("Selu",
                          [](const Attributes& a) {
                            return [alpha = a.get_float("alpha", 1.67326324F),
                                    gamma = a.get_float("gamma", 1.05070102F)](auto x) {
                              return gamma * Elu{alpha}(x);
                            };
                          }),
      unary_with<kNumbers>("Shrink",
                           [](const Attributes& a) {
                             return Shrink{a.get_float("bias"), a.get_float("lambd", 0.5F)};
                           }),
      unary<kFloats>("Sigmoid", [](auto x) { return sigmoid(x); }),
      unary<kFloats>("Softplus", [](auto x) { return softplus(x); }),
      unary<kFloats>("Softsign", [](auto x) { return x / (1 + std::fabs(x)); }),
      {.kind = "SwiGLU",
       .run = run_swiglu,
       .check = check_elementwise<kFloats>,
       .result_type = type_of_first_input,
       .num_required_inputs = 2},
      unary_with<kFloats>("Swish",
                          [](const Attributes& a) {
                            return [alpha = a.get_float("alpha", 1)](auto x) {
                              return x * sigmoid(alpha * x);
                            };
                          }),
      unary_with<kFloats>("ThresholdedRelu",
                          [](const Attributes& a) {
                            return [alpha = a.get_float("alpha", 1)](auto x) {
                              return x > alpha ? x : 0;
                            };
                          }),
  };
}

}  // namespace sluice::reference
