// The functions are those of CUDA's single precision, which stay within a few units in the last
// place of the real ones. Comparisons are written so that NaN stays NaN.

#include "plugin/generate/text/formulas.h"

#include <map>

#include "plugin/generate/text/text.h"

namespace sluice::cuda {
namespace {

using plugin::Attributes;
using Names = std::span<const std::string>;

/// `$0` and `$1` stand for the inputs.
using Templates = std::map<std::string_view, std::string_view>;

const Templates& unary_templates() {
  static const Templates kUnary = {
      {"Abs", "fabsf($0)"},
      {"Acos", "acosf($0)"},
      {"Acosh", "acoshf($0)"},
      {"Asin", "asinf($0)"},
      {"Asinh", "asinhf($0)"},
      {"Atan", "atanf($0)"},
      {"Atanh", "atanhf($0)"},
      {"Ceil", "ceilf($0)"},
      {"Cos", "cosf($0)"},
      {"Cosh", "coshf($0)"},
      {"Erf", "erff($0)"},
      {"Exp", "expf($0)"},
      {"Expand", "$0"},
      {"Floor", "floorf($0)"},
      {"HardSwish", "$0 * fminf(fmaxf($0 * (1.0f / 6.0f) + 0.5f, 0.0f), 1.0f)"},
      {"Identity", "$0"},
      {"Log", "logf($0)"},
      {"Mish", "$0 * tanhf($0 > 20.0f ? $0 : log1pf(expf($0)))"},
      {"Neg", "-$0"},
      {"Reciprocal", "1.0f / $0"},
      {"Relu", "$0 < 0.0f ? 0.0f : $0"},
      {"Round", "rintf($0)"},
      {"Sigmoid", "1.0f / (1.0f + expf(-$0))"},
      {"Sign", "$0 > 0.0f ? 1.0f : $0 < 0.0f ? -1.0f : $0"},
      {"Sin", "sinf($0)"},
      {"Sinh", "sinhf($0)"},
      {"Softplus", "$0 > 20.0f ? $0 : log1pf(expf($0))"},
      {"Softsign", "$0 / (1.0f + fabsf($0))"},
      {"Sqrt", "sqrtf($0)"},
      {"Tan", "tanf($0)"},
      {"Tanh", "tanhf($0)"},
  };
  return kUnary;
}

const Templates& binary_templates() {
  static const Templates kBinary = {
      {"Add", "$0 + $1"},      {"Div", "$0 / $1"},
      {"Mul", "$0 * $1"},      {"PRelu", "$0 < 0.0f ? $0 * $1 : $0"},
      {"Pow", "powf($0, $1)"}, {"Sub", "$0 - $1"},
  };
  return kBinary;
}

/// Operators of any number of inputs, two at a time.
const Templates& chained_templates() {
  static const Templates kChained = {
      {"Max", "$0 < $1 || $1 != $1 ? $1 : $0"},
      {"Min", "$1 < $0 || $1 != $1 ? $1 : $0"},
      {"Sum", "$0 + $1"},
  };
  return kChained;
}

/// Operators with attributes; empty for others.
std::string write_with_attributes(std::string_view kind, const Attributes& attributes,
                                  Names inputs) {
  const std::string& x = inputs[0];
  const auto number = [&](const char* name, float fallback) {
    return literal(attributes.get_float(name, fallback));
  };
  if (kind == "LeakyRelu")
    return fill_expression("$0 < 0.0f ? $0 * $1 : $0", {x, number("alpha", 0.01F)});
  if (kind == "Elu")
    return fill_expression("$0 < 0.0f ? $1 * expm1f($0) : $0", {x, number("alpha", 1)});
  if (kind == "HardSigmoid") {
    // fminf and fmaxf would drop a NaN.
    return fill_expression("$0 * $1 + $2 < 0.0f ? 0.0f : $0 * $1 + $2 > 1.0f ? 1.0f : $0 * $1 + $2",
                           {x, number("alpha", 0.2F), number("beta", 0.5F)});
  }
  if (kind == "Celu") {
    return fill_expression("$0 < 0.0f ? $1 * expm1f($0 / $1) : $0", {x, number("alpha", 1)});
  }
  if (kind == "Selu") {
    return fill_expression("$2 * ($0 < 0.0f ? $1 * expm1f($0) : $0)",
                           {x, number("alpha", 1.67326319F), number("gamma", 1.05070102F)});
  }
  if (kind == "ThresholdedRelu") {
    return fill_expression("$0 > $1 ? $0 : 0.0f", {x, number("alpha", 1)});
  }
  if (kind == "Shrink") {
    return fill_expression("$0 < -$1 ? $0 + $2 : $0 > $1 ? $0 - $2 : 0.0f",
                           {x, number("lambd", 0.5F), number("bias", 0)});
  }
  if (kind != "Gelu") return "";
  if (attributes.get_text("approximate", "none") == "tanh") {
    return fill_expression(
        "0.5f * $0 * (1.0f + tanhf(0.7978845608f * ($0 + 0.044715f * $0 * $0 * $0)))", {x});
  }
  return fill_expression("0.5f * $0 * (1.0f + erff($0 * 0.7071067812f))", {x});
}

/// The limits are inputs, attributes before version 11.
std::string write_clip(const Attributes& attributes, Names inputs) {
  std::string value = inputs[0];
  if (const auto* min = attributes.find("min", SLUICE_ATTRIBUTE_FLOAT); min != nullptr) {
    value = fill_expression("$0 < $1 ? $1 : $0", {value, literal(min->floats[0])});
  }
  if (const auto* max = attributes.find("max", SLUICE_ATTRIBUTE_FLOAT); max != nullptr) {
    value = fill_expression("$0 > $1 ? $1 : $0", {value, literal(max->floats[0])});
  }
  if (inputs.size() > 1 && !inputs[1].empty()) {
    value = fill_expression("$0 < $1 ? $1 : $0", {value, inputs[1]});
  }
  if (inputs.size() > 2 && !inputs[2].empty()) {
    value = fill_expression("$0 > $1 ? $1 : $0", {value, inputs[2]});
  }
  return value;
}

}  // namespace

Status write_formula(std::string_view kind, const Attributes& attributes, Names inputs,
                     std::string* expression) {
  const Status refusal = plugin::unimplemented(std::string(kind) + ": no kernel of floats with " +
                                               std::to_string(inputs.size()) + " inputs");
  expression->clear();
  if (inputs.empty() || inputs[0].empty()) return refusal;
  if (kind == "Clip") {
    *expression = write_clip(attributes, inputs);
    return plugin::ok();
  }
  for (const std::string& input : inputs) {
    if (input.empty()) return refusal;
  }
  if (const auto chained = chained_templates().find(kind); chained != chained_templates().end()) {
    *expression = inputs[0];
    for (const std::string& next : inputs.subspan(1)) {
      *expression = fill_expression(chained->second, {*expression, next});
    }
    return plugin::ok();
  }
  const Templates& templates = inputs.size() == 1 ? unary_templates() : binary_templates();
  const auto found = templates.find(kind);
  if (found != templates.end() && inputs.size() <= 2) {
    *expression = fill_expression(found->second, {inputs.begin(), inputs.end()});
    return plugin::ok();
  }
  if (inputs.size() == 1) *expression = write_with_attributes(kind, attributes, inputs);
  return expression->empty() || inputs.size() > 1 ? refusal : plugin::ok();
}

}  // namespace sluice::cuda
