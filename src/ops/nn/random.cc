// Random numbers: RandomNormal, RandomUniform, the same "Like" an input, Bernoulli, Multinomial.
//
// The last input of each is the state of the run
// (docs/decisions/0073-random-numbers-are-counted.md), which `sluice::RandomState` gives. Dropout
// has one, too (ops/math/reshape.cc).
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

using ir::ElementType;

/// What the attribute dtype names, or `fallback`.
Result<ElementType> dtype(const InferenceContext& context, ElementType fallback) {
  const std::int64_t number = context.int_attribute("dtype");
  if (number == 0) return fallback;
  const auto element = ir::element_type_from_onnx(number);
  if (!element) return context.error("dtype {} is not an element type", number);
  return *element;
}

Status infer_random(InferenceContext& context) {
  const ElementType element = SLUICE_TRY(dtype(context, ElementType::kF32));
  const auto shape = context.ints_attribute("shape");
  context.set_output(0, element, ir::Shape(shape.begin(), shape.end()));
  return ok_status();
}

Status infer_like(InferenceContext& context) {
  const ElementType element = SLUICE_TRY(dtype(context, context.element(0)));
  set_like_input(context, element);
  return ok_status();
}

Status infer_multinomial(InferenceContext& context) {
  const ElementType element = SLUICE_TRY(dtype(context, ElementType::kI32));
  const ir::Shape* shape = context.shape(0);
  if (shape != nullptr && shape->size() != 2) return context.error("input must have rank 2");
  context.set_output(0, element,
                     ir::Shape{shape ? (*shape)[0] : context.unknown_dim(),
                               context.int_attribute("sample_size", 1)});
  return ok_status();
}

Status infer_state(InferenceContext& context) {
  context.set_output(0, ElementType::kU64, ir::Shape{3});
  return ok_status();
}

OpSchema generator(std::string_view name, std::string_view doc,
                   std::vector<AttributeSpec> parameters) {
  parameters.push_back({"dtype", std::int64_t{1}});
  parameters.push_back({"seed", std::nullopt});
  parameters.push_back({"shape", std::nullopt, true});
  return {.name = name,
          .versions = {1, 22},
          .doc = doc,
          .inputs = {random_state_input()},
          .outputs = {{"output", kFloats}},
          .attributes = std::move(parameters),
          .infer = infer_random,
          .traits = kRandom,
          .upgrade = upgrade_unchanged};
}

OpSchema like(std::string_view name, std::string_view doc, TypeSet inputs, TypeSet outputs,
              std::vector<int> versions, std::vector<AttributeSpec> parameters) {
  parameters.push_back({"dtype", std::nullopt});
  parameters.push_back({"seed", std::nullopt});
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{"input", inputs}, random_state_input()},
          .outputs = {{"output", outputs}},
          .attributes = std::move(parameters),
          .infer = infer_like,
          .traits = kRandom,
          .upgrade = upgrade_unchanged};
}

OpSchema multinomial() {
  OpSchema schema = like("Multinomial", "draws from unnormalized log-probabilities", kFloats,
                         kIndices, {7, 22}, {{"sample_size", std::int64_t{1}}});
  schema.infer = infer_multinomial;
  return schema;
}

OpSchema random_state() {
  return {
      .domain = "sluice",
      .name = "RandomState",
      .versions = {1},
      .doc = "seed, number of the run and of the iteration, for operators that draw random numbers",
      .inputs = {},
      .outputs = {{"state", {ElementType::kU64}}},
      .infer = infer_state,
      .traits = kRandom | kRunState};
}

}  // namespace

OperandSpec random_state_input() {
  return {
      .name = "state", .types = {ElementType::kU64}, .is_optional = true, .is_random_state = true};
}

std::vector<OpSchema> random_ops() {
  const std::vector<AttributeSpec> normal = {{"mean", 0.0F}, {"scale", 1.0F}};
  const std::vector<AttributeSpec> uniform = {{"low", 0.0F}, {"high", 1.0F}};
  return {
      generator("RandomNormal", "numbers of a normal distribution", normal),
      generator("RandomUniform", "numbers of a uniform distribution", uniform),
      like("RandomNormalLike", "numbers of a normal distribution, shaped like the input",
           kAllTensors, kFloats, {1, 22}, normal),
      like("RandomUniformLike", "numbers of a uniform distribution, shaped like the input",
           kAllTensors, kFloats, {1, 22}, uniform),
      like("Bernoulli", "1 with the probability in the input, else 0", kFloats, kNumbers | kBools,
           {15, 22}, {}),
      multinomial(),
      random_state(),
  };
}

}  // namespace sluice::ops
