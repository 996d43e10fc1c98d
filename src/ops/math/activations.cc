// Activation functions: element-wise, most with a constant or two.
#include <algorithm>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

AttributeSpec constant(std::string_view name, float default_value) {
  return {.name = name, .default_value = default_value};
}

OpSchema activation(std::string_view name, std::vector<int> versions, std::string_view doc,
                    std::vector<AttributeSpec> attributes = {}, TypeSet types = kFloats) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "X", .types = types, .variable = "T"}},
          .outputs = {{.name = "Y", .types = types, .variable = "T"}},
          .attributes = std::move(attributes),
          .infer = infer_same_as_input,
          .traits = kElementwise};
}

Status infer_gelu(InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "approximate", {"none", "tanh"}));
  return infer_same_as_input(context);
}

OpSchema gelu() {
  OpSchema schema =
      activation("Gelu", {20}, "x * P(X <= x) of the normal distribution, or its tanh form",
                 {{.name = "approximate", .default_value = std::string("none")}});
  schema.infer = infer_gelu;
  return schema;
}

/// Gate and value must have equal shapes: no broadcast.
Status infer_swiglu(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  const ir::Shape* gate = context.shape(0);
  const ir::Shape* value = context.shape(1);
  if (gate == nullptr || value == nullptr) return ok_status();
  if (std::equal(gate->begin(), gate->end(), value->begin(), value->end(), ir::may_be_equal)) {
    return ok_status();
  }
  return context.error("A {} and B {} must have the same shape", ir::shape_to_string(*gate),
                       ir::shape_to_string(*value));
}

OpSchema swiglu() {
  OpSchema schema =
      activation("SwiGLU", {28}, "A * sigmoid(alpha * A) * B", {constant("alpha", 1.0F)});
  schema.inputs = {{.name = "A", .types = kFloats, .variable = "T"},
                   {.name = "B", .types = kFloats, .variable = "T"}};
  schema.infer = infer_swiglu;
  return schema;
}

}  // namespace

std::vector<OpSchema> activation_ops() {
  return {
      activation("Celu", {12, 28}, "max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)",
                 {constant("alpha", 1.0F)}),
      activation("Elu", {6, 22}, "x if x > 0, else alpha * (exp(x) - 1)",
                 {constant("alpha", 1.0F)}),
      gelu(),
      activation("HardSigmoid", {6, 22}, "clip(alpha * x + beta, 0, 1)",
                 {constant("alpha", 0.2F), constant("beta", 0.5F)}),
      activation("HardSwish", {14, 22}, "x * clip(x / 6 + 1/2, 0, 1)"),
      activation("LeakyRelu", {6, 16}, "x if x >= 0, else alpha * x", {constant("alpha", 0.01F)}),
      activation("Mish", {18, 22}, "x * tanh(log(1 + exp(x)))"),
      activation("Relu", {6, 13, 14}, "max(x, 0)", {}, kFloats | kSignedInts),
      activation("Selu", {6, 22}, "gamma * (x if x > 0, else alpha * (exp(x) - 1))",
                 {constant("alpha", 1.67326319217681884765625F),
                  constant("gamma", 1.05070102214813232421875F)}),
      activation("Shrink", {9}, "x + bias if x < -lambd, x - bias if x > lambd, else 0",
                 {constant("bias", 0.0F), constant("lambd", 0.5F)}, kNumbers),
      activation("Sigmoid", {6, 13}, "1 / (1 + exp(-x))"),
      activation("Softplus", {1, 22}, "log(1 + exp(x))"),
      activation("Softsign", {1, 22}, "x / (1 + |x|)"),
      swiglu(),
      activation("Swish", {24}, "x * sigmoid(alpha * x)", {constant("alpha", 1.0F)}),
      activation("ThresholdedRelu", {1, 10, 22}, "x if x > alpha, else 0",
                 {constant("alpha", 1.0F)}),
  };
}

}  // namespace sluice::ops
