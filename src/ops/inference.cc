#include "ops/inference.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/broadcast_dim.h"
#include "ops/values.h"

namespace sluice::ops {

namespace {

/// Whether the element type can hold the number; arithmetic beyond that wraps.
bool fits_element(std::int64_t value, ir::ElementType element) {
  const auto lies_in = [&]<typename T>(T /*type*/) {
    return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
  };
  switch (element) {
    case ir::ElementType::kI8: return lies_in(std::int8_t{});
    case ir::ElementType::kI16: return lies_in(std::int16_t{});
    case ir::ElementType::kI32: return lies_in(std::int32_t{});
    case ir::ElementType::kU8: return lies_in(std::uint8_t{});
    case ir::ElementType::kU16: return lies_in(std::uint16_t{});
    case ir::ElementType::kU32: return lies_in(std::uint32_t{});
    case ir::ElementType::kU64: return value >= 0;
    default: return true;
  }
}

bool all_fit(const Values& values, ir::ElementType element) {
  return std::ranges::all_of(values, [&](const ir::Dim& value) {
    return !value.is_known() || fits_element(value.value(), element);
  });
}

}  // namespace

OperandFacts facts_of(const ir::Operand& operand) {
  OperandFacts facts = {operand.type, std::nullopt, std::nullopt};
  if (!operand.constant) return facts;
  const ir::Shape& shape = *operand.constant->type.shape();
  const auto elements = ir::num_elements(shape);
  // Only scalars and vectors are followed: shapes, axes and the like. Weights would cost time and
  // help no shape function.
  if (!elements || *elements > kMaxFollowedValues || shape.size() > 1) return facts;
  if (const auto integers = ir::integer_values(*operand.constant)) {
    Values values(integers->begin(), integers->end());
    // Arithmetic on values is in 64 bits; what the element type would wrap must not be followed.
    if (all_fit(values, operand.type.element())) facts.values = std::move(values);
  }
  if (*elements <= kMaxFollowedFloats) facts.float_values = ir::float_values(*operand.constant);
  return facts;
}

std::vector<const OperandFacts*> input_facts(const ir::Operation& operation,
                                             const SubgraphFacts& facts) {
  static const OperandFacts kAbsent;
  std::vector<const OperandFacts*> inputs;
  inputs.reserve(operation.inputs.size());
  // The body's own inputs stand behind those of the operation, as kernels get them.
  operation.for_each_read([&](ir::OperandId input) {
    inputs.push_back(input.is_valid() ? &facts[input.index()] : &kAbsent);
  });
  return inputs;
}

InferenceContext::InferenceContext(const ir::Operation& operation,
                                   std::span<const OperandFacts* const> inputs,
                                   const SubgraphInference* subgraphs)
    : operation_(operation),
      inputs_(inputs.first(operation.inputs.size())),
      body_inputs_(inputs.subspan(operation.inputs.size())),
      subgraphs_(subgraphs),
      outputs_(operation.outputs.size()),
      output_values_(operation.outputs.size()) {}

std::int64_t InferenceContext::int_attribute(std::string_view name, std::int64_t fallback) const {
  return attributes().get_or<std::int64_t>(name, fallback);
}

std::vector<std::int64_t> InferenceContext::ints_attribute(std::string_view name) const {
  return attributes().get_or<std::vector<std::int64_t>>(name, {});
}

std::string InferenceContext::text_attribute(std::string_view name,
                                             std::string_view fallback) const {
  return attributes().get_or<std::string>(name, std::string(fallback));
}

bool InferenceContext::has_input(std::size_t index) const {
  return index < inputs_.size() && inputs_[index]->type.kind() != ir::Type::Kind::kUnknown;
}

const ir::Type& InferenceContext::input(std::size_t index) const {
  static const ir::Type kAbsent;
  return index < inputs_.size() ? inputs_[index]->type : kAbsent;
}

const ir::Shape* InferenceContext::shape(std::size_t index) const {
  return input(index).is_tensor() ? input(index).shape() : nullptr;
}

const Values* InferenceContext::values(std::size_t index) const {
  if (index >= inputs_.size()) return nullptr;
  const OperandFacts& facts = *inputs_[index];
  if (facts.values) return &*facts.values;
  // An empty tensor of integers has known values: none.
  static const Values kNone;
  const ir::Type& type = facts.type;
  const bool is_none = type.is_tensor() && ir::is_integer(type.element()) && type.is_static() &&
                       ir::num_elements(*type.shape()) == 0;
  return is_none ? &kNone : nullptr;
}

std::optional<std::vector<std::int64_t>> InferenceContext::static_values(std::size_t index) const {
  const Values* known = values(index);
  if (known == nullptr) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const ir::Dim& dim : *known) {
    if (!dim.is_known()) return std::nullopt;
    numbers.push_back(dim.value());
  }
  return numbers;
}

const FloatValues* InferenceContext::float_values(std::size_t index) const {
  const bool is_known = index < inputs_.size() && inputs_[index]->float_values.has_value();
  return is_known ? &*inputs_[index]->float_values : nullptr;
}

ir::Dim InferenceContext::unknown_dim() {
  const ir::OperandId output = operation_.output(0);
  const bool is_main = !subgraph_.is_valid() || subgraph_.index() == 0;
  // The name depends on the operation's first output and its subgraph alone, so inference gives the
  // same symbol every time.
  const std::string scope = is_main ? "_" : fmt::format("_b{}", subgraph_.value());
  return ir::Dim::symbol(fmt::format("{}u{}_{}", scope, output.value() + 1, num_unknown_++));
}

ir::Dim InferenceContext::data_dependent_dim(ir::Dim upper_bound) {
  return shows_bounds_ ? std::move(upper_bound) : unknown_dim();
}

Result<std::size_t> InferenceContext::axis(std::int64_t given, std::size_t rank) const {
  const auto axis = normalize_axis(given, rank);
  if (!axis.is_ok()) return error("{}", axis.status().message());
  return static_cast<std::size_t>(*axis);
}

void InferenceContext::set_output(std::size_t index, ir::Type type) {
  if (index < outputs_.size()) outputs_[index] = std::move(type);
}

void InferenceContext::set_output(std::size_t index, ir::ElementType element,
                                  std::optional<ir::Shape> shape) {
  set_output(index, ir::Type::tensor(element, std::move(shape)));
}

void InferenceContext::set_output_values(std::size_t index, Values values) {
  if (index >= output_values_.size()) return;
  // A value that the element type cannot hold would wrap in the kernel. It is dropped, not
  // followed.
  const ir::Type& type = outputs_[index];
  const bool fits = !type.is_tensor() || all_fit(values, type.element());
  if (fits) output_values_[index] = std::move(values);
}

void InferenceContext::forget_output_values() {
  for (std::optional<Values>& values : output_values_) values.reset();
}

Result<std::vector<ir::Type>> InferenceContext::infer_subgraph(std::string_view attribute,
                                                               std::span<const ir::Type> inputs) {
  const auto* id = attributes().find<ir::SubgraphId>(attribute);
  if (id == nullptr) return error("attribute \"{}\" must be a graph", attribute);
  if (subgraphs_ == nullptr) return error("subgraphs cannot be inferred here");
  return subgraphs_->infer(*id, inputs);
}

std::vector<ir::Type> InferenceContext::body_inputs() const {
  std::vector<ir::Type> types;
  for (const OperandFacts* input : body_inputs_) types.push_back(input->type);
  return types;
}

Result<ir::ElementType> InferenceContext::infer_body_element(std::span<const ir::Type> inputs) {
  if (subgraphs_ == nullptr || !operation_.body) return ir::ElementType::kUndefined;
  const auto outputs = SLUICE_TRY(subgraphs_->infer(operation_.body->subgraph, inputs));
  if (outputs.size() != 1) return error("its body must have one output");
  return outputs[0].element();
}

Result<ir::Shape> broadcast_shapes(const ir::Shape& a, const ir::Shape& b) {
  const ir::Shape& longer = a.size() >= b.size() ? a : b;
  const ir::Shape& shorter = a.size() >= b.size() ? b : a;
  ir::Shape result = longer;
  // Shapes are aligned at their last dimensions; the longer one keeps its front.
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    ir::Dim& dim = result[offset + i];
    const ir::Dim& other = shorter[i];
    const bool are_numbers = dim.is_known() && other.is_known();
    // A symbol may turn out to be 1 or equal; only two known numbers can contradict each other.
    if (are_numbers && dim != other && !dim.is(1) && !other.is(1)) {
      return invalid_argument("shapes {} and {} do not broadcast: dimension {} against {}",
                              ir::shape_to_string(a), ir::shape_to_string(b), dim.to_string(),
                              other.to_string());
    }
    dim = ir::broadcast(dim, other);
  }
  return result;
}

Result<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    return invalid_argument("axis {} is outside a tensor of rank {}", axis, rank);
  }
  // Negative axes count from the end, as in ONNX.
  return axis < 0 ? axis + signed_rank : axis;
}

Status check_choice(const InferenceContext& context, std::string_view name,
                    std::initializer_list<std::string_view> words) {
  const auto* given = context.attributes().find<std::string>(name);
  if (given == nullptr || std::ranges::find(words, *given) != words.end()) return ok_status();
  return context.error("attribute \"{}\" is \"{}\"; it must be one of {}", name, *given,
                       fmt::join(words, ", "));
}

void set_like_input(InferenceContext& context, ir::ElementType element) {
  const ir::Shape* shape = context.shape(0);
  context.set_output(0, element, shape ? std::optional<ir::Shape>(*shape) : std::nullopt);
}

Status infer_same_as_input(InferenceContext& context) {
  set_like_input(context, context.element(0));
  return ok_status();
}

namespace {

Status infer_broadcast_of(InferenceContext& context, std::span<const ir::Type> types,
                          ir::ElementType element) {
  std::optional<ir::Shape> result = ir::Shape();
  for (const ir::Type& type : types) {
    if (!type.is_tensor()) continue;
    // One input of unknown rank makes the rank of the result unknown.
    if (type.shape() == nullptr) {
      context.set_output(0, element, std::nullopt);
      return ok_status();
    }
    auto broadcast = broadcast_shapes(*result, *type.shape());
    if (!broadcast.is_ok()) return context.error("{}", broadcast.status().message());
    result = std::move(broadcast).value();
  }
  context.set_output(0, element, std::move(result));
  return ok_status();
}

Status infer_broadcast_as(InferenceContext& context, ir::ElementType element) {
  std::vector<ir::Type> types;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) types.push_back(context.input(i));
  return infer_broadcast_of(context, types, element);
}

}  // namespace

Status infer_broadcast(InferenceContext& context) {
  return infer_broadcast_as(context, context.element(0));
}

Status infer_broadcast_bool(InferenceContext& context) {
  return infer_broadcast_as(context, ir::ElementType::kBool);
}

Status infer_body_inputs(InferenceContext& context) {
  if (!context.operation().body) return context.error("it has no body");
  const std::vector<ir::Type> types = context.body_inputs();
  return infer_broadcast_of(context, types, SLUICE_TRY(context.infer_body_element(types)));
}

}  // namespace sluice::ops
