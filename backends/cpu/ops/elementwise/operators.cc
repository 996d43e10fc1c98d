// Element-wise operators as steps of a Body.

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "ops/elementwise/translator.h"
#include "ops/elementwise/types.h"

namespace sluice::cpu {
namespace {

constexpr int kNone = kNoRegister;

// ---- each returns the register of its result, or kNone without a fast form ----------------------

using Translate = int (*)(Translator&, const Node&);

template <BodyOp kOp>
int unary(Translator& t, const Node& n) {
  return t.emit(kOp, n.inputs[0]);
}

template <BodyOp kOp>
int binary(Translator& t, const Node& n) {
  return n.inputs.size() == 2 ? t.emit(kOp, n.inputs[0], n.inputs[1]) : kNone;
}

template <BodyOp kOp>
int reversed(Translator& t, const Node& n) {
  return n.inputs.size() == 2 ? t.emit(kOp, n.inputs[1], n.inputs[0]) : kNone;
}

/// x * sigmoid(x) and x * hard_sigmoid(x) are one function each.
int mul(Translator& t, const Node& n) {
  if (n.inputs.size() != 2) return kNone;
  for (const int i : {0, 1}) {
    const int gated = t.gated_by(n.inputs[static_cast<std::size_t>(i)],
                                 n.inputs[static_cast<std::size_t>(1 - i)]);
    if (gated != kNone) return gated;
  }
  return t.emit(BodyOp::kMul, n.inputs[0], n.inputs[1]);
}

template <BodyOp kOp>
int variadic(Translator& t, const Node& n) {
  int result = n.inputs[0];
  for (std::size_t i = 1; i < n.inputs.size(); ++i) result = t.emit(kOp, result, n.inputs[i]);
  return n.inputs.size() == 1 ? t.emit(BodyOp::kCopy, result) : result;
}

int mean(Translator& t, const Node& n) {
  const int sum = variadic<BodyOp::kAdd>(t, n);
  return t.emit(BodyOp::kScale, sum, kNone, 1.0F / static_cast<float>(n.inputs.size()));
}

int pow(Translator& t, const Node& n) {
  const int x = n.inputs[0];
  const std::optional<float> exponent = t.constant(n.inputs[1]);
  if (exponent == 2.0F) return t.emit(BodyOp::kSquare, x);
  if (exponent == 3.0F) return t.emit(BodyOp::kMul, t.emit(BodyOp::kSquare, x), x);
  if (exponent == 0.5F) return t.emit(BodyOp::kPowHalf, x);
  if (exponent == 1.0F) return t.emit(BodyOp::kCopy, x);
  if (exponent == -1.0F) return t.emit(BodyOp::kReciprocal, x);
  return t.emit(BodyOp::kPow, x, n.inputs[1]);
}

int clip(Translator& t, const Node& n) {
  float low = n.attributes.get_float("min", -std::numeric_limits<float>::infinity());
  float high = n.attributes.get_float("max", std::numeric_limits<float>::infinity());
  for (std::size_t i = 1; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == kNone) continue;
    const std::optional<float> bound = t.constant(n.inputs[i]);
    if (!bound) return kNone;
    (i == 1 ? low : high) = *bound;
  }
  return t.emit(BodyOp::kClip, n.inputs[0], kNone, low, high);
}

int gelu(Translator& t, const Node& n) {
  const auto form = n.attributes.get_text("approximate", "none");
  const bool tanh = form == "tanh";
  if (!tanh && form != "none") return kNone;
  return t.emit(tanh ? BodyOp::kGeluTanh : BodyOp::kGelu, n.inputs[0]);
}

int leaky_relu(Translator& t, const Node& n) {
  const float alpha = n.attributes.get_float("alpha", 0.01F);
  return t.emit(BodyOp::kLeakyRelu, n.inputs[0], kNone, alpha);
}

int elu(Translator& t, const Node& n) {
  return t.emit(BodyOp::kElu, n.inputs[0], kNone, n.attributes.get_float("alpha", 1));
}

/// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)): x / alpha may be infinite where x is not.
int celu(Translator& t, const Node& n) {
  const float alpha = n.attributes.get_float("alpha", 1);
  if (!(alpha > 0)) return kNone;
  if (alpha == 1) return t.emit(BodyOp::kElu, n.inputs[0], kNone, 1);
  const int x = t.emit(BodyOp::kScale, n.inputs[0], kNone, 1 / alpha);
  const int curve = t.emit(BodyOp::kScale, t.emit(BodyOp::kElu, x, kNone, 1), kNone, alpha);
  const int below = t.emit(BodyOp::kMin, curve, t.number(0));
  return t.emit(BodyOp::kAdd, t.emit(BodyOp::kRelu, n.inputs[0]), below);
}

int shrink(Translator& t, const Node& n) {
  const float limit = n.attributes.get_float("lambd", 0.5F);
  const int bias = t.number(n.attributes.get_float("bias", 0));
  const int x = n.inputs[0];
  const int above = t.emit(BodyOp::kLess, t.number(limit), x);
  const int below = t.emit(BodyOp::kLess, x, t.number(-limit));
  const int lowered = t.emit(BodyOp::kKeepWhere, t.emit(BodyOp::kSub, x, bias), above);
  const int raised = t.emit(BodyOp::kKeepWhere, t.emit(BodyOp::kAdd, x, bias), below);
  return limit < 0 ? kNone : t.emit(BodyOp::kEither, lowered, raised);
}

int is_inf(Translator& t, const Node& n) {
  const bool negative = n.attributes.get_int("detect_negative", 1) != 0;
  const bool positive = n.attributes.get_int("detect_positive", 1) != 0;
  if (!negative && !positive) return kNone;
  const float infinity = std::numeric_limits<float>::infinity();
  const int x = negative && positive ? t.emit(BodyOp::kAbs, n.inputs[0]) : n.inputs[0];
  return t.emit(BodyOp::kEqual, x, t.number(positive ? infinity : -infinity));
}

int selu(Translator& t, const Node& n) {
  const float alpha = n.attributes.get_float("alpha", 1.67326324F);
  const int x = t.emit(BodyOp::kElu, n.inputs[0], kNone, alpha);
  return t.emit(BodyOp::kScale, x, kNone, n.attributes.get_float("gamma", 1.05070102F));
}

int hard_sigmoid(Translator& t, const Node& n) {
  return t.emit(BodyOp::kHardSigmoid, n.inputs[0], kNone, n.attributes.get_float("alpha", 0.2F),
                n.attributes.get_float("beta", 0.5F));
}

int swish(Translator& t, const Node& n) {
  return t.emit(BodyOp::kSilu, n.inputs[0], kNone, n.attributes.get_float("alpha", 1));
}

int mish(Translator& t, const Node& n) {
  const int gate = t.emit(BodyOp::kTanh, t.emit(BodyOp::kSoftplus, n.inputs[0]));
  return t.emit(BodyOp::kMul, n.inputs[0], gate);
}

int thresholded_relu(Translator& t, const Node& n) {
  return t.emit(BodyOp::kThreshold, n.inputs[0], kNone, n.attributes.get_float("alpha", 1));
}

int exclusive_or(Translator& t, const Node& n) {
  return n.inputs.size() == 2
             ? t.emit(BodyOp::kNot, t.emit(BodyOp::kEqual, n.inputs[0], n.inputs[1]))
             : kNone;
}

int where(Translator& t, const Node& n) {
  if (n.inputs.size() != 3) return kNone;
  const int yes = t.emit(BodyOp::kKeepWhere, n.inputs[1], n.inputs[0]);
  const int no = t.emit(BodyOp::kKeepUnless, n.inputs[2], n.inputs[0]);
  return t.emit(BodyOp::kEither, yes, no);
}

// ---- types --------------------------------------------------------------------------------------

/// Results of 16 bits are rounded at every operation, as if they were stored.
int rounded(Translator& t, int result, sluice_element_type type) {
  if (type == plugin::kF16) result = t.emit(BodyOp::kRoundToF16, result);
  if (type == plugin::kBf16) result = t.emit(BodyOp::kRoundToBf16, result);
  t.set_type(result, type);
  return result;
}

/// What an operator takes and gives.
enum class Signature : std::uint8_t {
  kFloats,   ///< floats of one type; the same
  kCompare,  ///< floats of one type, or integers and a small constant; bool
  kTest,     ///< a float; bool
  kLogic,    ///< bools; bool
  kWhere,    ///< a bool and two floats; the floats' type
};

struct Operator {
  Translate translate;
  Signature signature = Signature::kFloats;
};

bool all_are(const Translator& t, const Node& n, std::size_t first, bool (*accept)(int)) {
  for (std::size_t i = first; i < n.inputs.size(); ++i) {
    if (n.inputs[i] != kNone && !accept(t.type(n.inputs[i]))) return false;
  }
  return true;
}

bool is_bool(int type) { return type == plugin::kBool; }
bool is_float(int type) { return is_computed_float(type); }

/// Rounding to floats keeps the order to integers of few digits.
bool compares_integers(const Translator& t, const Node& n) {
  // 2^24: integers below it are floats exactly.
  constexpr float kExact = 16777216.0F;
  if (n.inputs.size() != 2 || n.inputs[0] == kNone || n.inputs[1] == kNone) return false;
  for (const int reg : n.inputs) {
    if (!t.is_source(reg) || !is_integer(t.type(reg))) return false;
  }
  const auto is_small = [&](int reg) {
    const auto value = t.constant(reg);
    return value && std::fabs(*value) < kExact;
  };
  return is_small(n.inputs[0]) || is_small(n.inputs[1]) || fits_float(t.type(n.inputs[0]));
}

bool accepts(Signature signature, const Translator& t, const Node& n) {
  switch (signature) {
    case Signature::kFloats: return all_are(t, n, 0, is_float);
    case Signature::kTest: return all_are(t, n, 0, is_float);
    case Signature::kLogic: return all_are(t, n, 0, is_bool);
    case Signature::kCompare: return all_are(t, n, 0, is_float) || compares_integers(t, n);
    case Signature::kWhere: return is_bool(t.type(n.inputs[0])) && all_are(t, n, 1, is_float);
  }
  return false;
}

sluice_element_type result_type(Signature signature, const Translator& t, const Node& n) {
  switch (signature) {
    case Signature::kFloats: return t.type(n.inputs[0]);
    case Signature::kWhere: return t.type(n.inputs[1]);
    default: return plugin::kBool;
  }
}

/// A cast to integers must be the last step: the registers behind it would not be whole numbers.
int cast(Translator& t, const Node& n) {
  const int x = n.inputs[0];
  const sluice_element_type from = t.type(x);
  const auto to = static_cast<sluice_element_type>(n.attributes.get_int("to"));
  const bool reads = is_computed_float(from) || from == plugin::kBool || t.is_source(x);
  if (!reads || !storage_of(from) || !storage_of(to)) return kNone;
  int result = kNone;
  if (to == plugin::kBool) {
    if (from == plugin::kF64) return kNone;
    result = t.emit(BodyOp::kNot, t.emit(BodyOp::kNot, x));
  } else if (to == plugin::kF32 || fits_float(from)) {
    result = t.emit(BodyOp::kCopy, x);
  } else {
    return kNone;  // would round twice, or lose digits on the way
  }
  return rounded(t, result, to);
}

using Operators = std::map<std::string_view, Operator>;

/// And the functions of angles, of circles and of hyperbolas.
Operators with_angles(Operators all) {
  all.merge(Operators{{"Acos", {unary<BodyOp::kAcos>}},
                      {"Acosh", {unary<BodyOp::kAcosh>}},
                      {"Asin", {unary<BodyOp::kAsin>}},
                      {"Asinh", {unary<BodyOp::kAsinh>}},
                      {"Atan", {unary<BodyOp::kAtan>}},
                      {"Atanh", {unary<BodyOp::kAtanh>}},
                      {"Cos", {unary<BodyOp::kCos>}},
                      {"Cosh", {unary<BodyOp::kCosh>}},
                      {"Sin", {unary<BodyOp::kSin>}},
                      {"Sinh", {unary<BodyOp::kSinh>}},
                      {"Tan", {unary<BodyOp::kTan>}}});
  return all;
}

const Operators& operators() {
  static const Operators kOperators = with_angles({
      {"Abs", {unary<BodyOp::kAbs>}},
      {"Add", {binary<BodyOp::kAdd>}},
      {"And", {binary<BodyOp::kMul>, Signature::kLogic}},
      {"Ceil", {unary<BodyOp::kCeil>}},
      {"Celu", {celu}},
      {"Clip", {clip}},
      {"Div", {binary<BodyOp::kDiv>}},
      {"Elu", {elu}},
      {"Equal", {binary<BodyOp::kEqual>, Signature::kCompare}},
      {"Erf", {unary<BodyOp::kErf>}},
      {"Exp", {unary<BodyOp::kExp>}},
      {"Floor", {unary<BodyOp::kFloor>}},
      {"Gelu", {gelu}},
      {"Greater", {reversed<BodyOp::kLess>, Signature::kCompare}},
      {"GreaterOrEqual", {reversed<BodyOp::kLessOrEqual>, Signature::kCompare}},
      {"HardSigmoid", {hard_sigmoid}},
      {"HardSwish", {unary<BodyOp::kHardSwish>}},
      {"Identity", {unary<BodyOp::kCopy>}},
      {"IsInf", {is_inf, Signature::kTest}},
      {"IsNaN", {unary<BodyOp::kIsNan>, Signature::kTest}},
      {"LeakyRelu", {leaky_relu}},
      {"Less", {binary<BodyOp::kLess>, Signature::kCompare}},
      {"LessOrEqual", {binary<BodyOp::kLessOrEqual>, Signature::kCompare}},
      {"Log", {unary<BodyOp::kLog>}},
      {"Max", {variadic<BodyOp::kMax>}},
      {"Mean", {mean}},
      {"Min", {variadic<BodyOp::kMin>}},
      {"Mish", {mish}},
      {"Mul", {mul}},
      {"Neg", {unary<BodyOp::kNeg>}},
      {"Not", {unary<BodyOp::kNot>, Signature::kLogic}},
      {"Or", {binary<BodyOp::kMax>, Signature::kLogic}},
      {"PRelu", {binary<BodyOp::kPrelu>}},
      {"Pow", {pow}},
      {"Reciprocal", {unary<BodyOp::kReciprocal>}},
      {"Relu", {unary<BodyOp::kRelu>}},
      {"Round", {unary<BodyOp::kRound>}},
      {"Selu", {selu}},
      {"Shrink", {shrink}},
      {"Sigmoid", {unary<BodyOp::kSigmoid>}},
      {"Sign", {unary<BodyOp::kSign>}},
      {"Softplus", {unary<BodyOp::kSoftplus>}},
      {"Softsign", {unary<BodyOp::kSoftsign>}},
      {"Sqrt", {unary<BodyOp::kSqrt>}},
      {"Sub", {binary<BodyOp::kSub>}},
      {"Sum", {variadic<BodyOp::kAdd>}},
      {"Swish", {swish}},
      {"Tanh", {unary<BodyOp::kTanh>}},
      {"ThresholdedRelu", {thresholded_relu}},
      {"Where", {where, Signature::kWhere}},
      {"Xor", {exclusive_or, Signature::kLogic}},
  });
  return kOperators;
}

/// Pow takes an exponent, and Clip bounds, of types of their own.
bool has_own_types(const Node& node) { return node.kind == "Pow"; }

int translate(Translator& translator, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kNone) return kNone;
  if (node.kind == "Cast") return cast(translator, node);
  const auto found = operators().find(node.kind);
  if (found == operators().end()) return kNone;
  const auto [run, signature] = found->second;
  if (has_own_types(node)) {
    const bool fits =
        is_float(translator.type(node.inputs[0])) &&
        (translator.constant(node.inputs[1]) || is_float(translator.type(node.inputs[1])));
    if (!fits) return kNone;
  } else if (!accepts(signature, translator, node)) {
    return kNone;
  }
  const int result = run(translator, node);
  return result == kNone ? kNone
                         : rounded(translator, result, result_type(signature, translator, node));
}

}  // namespace

Status translate_node(Translator& translator, const Node& node, int* result) {
  *result = translate(translator, node);
  if (*result != kNone) return plugin::ok();
  return plugin::unimplemented("no fast form of element-wise " + std::string(node.kind));
}

std::vector<const char*> elementwise_kinds() {
  std::vector<const char*> kinds = {"Cast"};
  for (const auto& [kind, entry] : operators()) kinds.push_back(kind.data());
  return kinds;
}

}  // namespace sluice::cpu
