#include "passes/quantize/quantization.h"

#include <algorithm>
#include <utility>

namespace sluice::passes {
namespace {

using ir::ElementType;

bool is_whole(const ir::Operation& operation) {
  // Scales per block have another shape than those that the passes here move.
  return !operation.body && operation.attributes.get_or("block_size", std::int64_t{0}) == 0;
}

}  // namespace

bool are_scales(const std::vector<double>& scales) {
  return std::ranges::all_of(scales, [](double s) { return s == 0 || is_moderate(s); });
}

std::optional<Bytes8> read_bytes(const ir::Subgraph& subgraph, ir::OperandId id, ir::OperandId zero,
                                 std::size_t axis) {
  const ir::Constant* constant = subgraph.find_constant(id);
  if (constant == nullptr || !is_byte(constant->type.element())) return std::nullopt;
  auto steps = ir::integer_values(*constant);
  const ir::Shape& shape = *constant->type.shape();
  if (!steps || axis >= shape.size()) return std::nullopt;
  if (!zero.is_valid()) return Bytes8{std::move(*steps), shape};
  const ir::Constant* zeros = subgraph.find_constant(zero);
  const auto values = zeros == nullptr ? std::nullopt : ir::integer_values(*zeros);
  const auto count = static_cast<std::size_t>(shape[axis].value());
  if (!values || (values->size() != 1 && values->size() != count)) return std::nullopt;
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) {
    inner *= static_cast<std::size_t>(shape[d].value());
  }
  for (std::size_t i = 0; i < steps->size(); ++i) {
    // In 64 bits: a byte less its zero point takes 9.
    (*steps)[i] -= (*values)[values->size() == 1 ? 0 : i / inner % count];
  }
  return Bytes8{std::move(*steps), shape};
}

std::optional<Quantization> quantization_of(const ir::Subgraph& subgraph,
                                            const ir::Operation& operation) {
  const bool quantizes = operation.is("QuantizeLinear");
  if ((!quantizes && !operation.is("DequantizeLinear")) || !is_whole(operation))
    return std::nullopt;
  const ir::OperandId bytes = quantizes ? operation.output(0) : operation.input(0);
  const ir::OperandId floats = quantizes ? operation.input(0) : operation.output(0);
  const ElementType element = type_of(subgraph, bytes).element();
  const auto scale = scalar_value(subgraph, operation.input(1));
  if (!is_byte(element) || type_of(subgraph, floats).element() != ElementType::kF32 || !scale) {
    return std::nullopt;
  }
  Quantization result = {static_cast<float>(*scale), 0, element == ElementType::kI8};
  if (operation.input(2).is_valid()) {
    const auto zero = scalar_value(subgraph, operation.input(2));
    if (!zero) return std::nullopt;
    result.zero = static_cast<int>(*zero);
  }
  // Rewrites divide by scales and multiply them: extreme ones would overflow or vanish.
  return result.scale > 0 && is_moderate(*scale) ? std::optional(result) : std::nullopt;
}

std::optional<Quantized> dequantized_from(const Matcher& matcher, ir::OperandId id) {
  const ir::Operation* operation = matcher.find(id, "DequantizeLinear");
  // A dequantized constant is a weight (quantized_weights), not an activation.
  if (operation == nullptr || matcher.subgraph().is_constant(operation->input(0))) {
    return std::nullopt;
  }
  const auto quantization = quantization_of(matcher.subgraph(), *operation);
  if (!quantization) return std::nullopt;
  return Quantized{operation->input(0), *quantization};
}

std::optional<Quantized> quantized_to(const Matcher& matcher, ir::OperandId id,
                                      ir::OperationId* at) {
  // Another reader would still need the value in floats.
  if (!matcher.uses().has_single_use(id)) return std::nullopt;
  const ir::OperationId reader = matcher.uses().readers(id).front();
  const ir::Operation& operation = matcher.subgraph().operation(reader);
  if (!operation.is("QuantizeLinear") || operation.input(0) != id) return std::nullopt;
  const auto quantization = quantization_of(matcher.subgraph(), operation);
  if (!quantization) return std::nullopt;
  *at = reader;
  return Quantized{operation.output(0), *quantization};
}

bool has_no_zero_point(const ir::Subgraph& subgraph, const ir::Operation& operation) {
  if (!operation.input(2).is_valid()) return true;
  const ir::Constant* constant = subgraph.find_constant(operation.input(2));
  const auto zeros = constant == nullptr ? std::nullopt : ir::integer_values(*constant);
  return zeros && std::ranges::all_of(*zeros, [](std::int64_t zero) { return zero == 0; });
}

std::optional<QuantizedWeights> quantized_weights(const Matcher& matcher, ir::OperandId id) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const ir::Operation* operation = matcher.find(id, "DequantizeLinear");
  if (operation == nullptr || !is_whole(*operation)) return std::nullopt;
  const ir::Constant* bytes = subgraph.find_constant(operation->input(0));
  const ir::Constant* scale = subgraph.find_constant(operation->input(1));
  if (bytes == nullptr || scale == nullptr || bytes->type.element() != ElementType::kI8) {
    return std::nullopt;
  }
  if (!has_no_zero_point(subgraph, *operation)) return std::nullopt;
  const auto scales = ir::float_values(*scale);
  const ir::Shape& shape = *bytes->type.shape();
  if (!scales || !are_scales(*scales) || shape.empty()) return std::nullopt;
  QuantizedWeights weights = {operation->input(0), *scales};
  const auto channels = static_cast<std::size_t>(shape[0].value());
  if (scales->size() == 1) weights.scales.assign(channels, scales->front());
  const bool is_per_channel =
      // Axis 0 of weights is the output channel, the only one by which a result can be scaled
      // afterwards.
      scales->size() == 1 || operation->attributes.get_or("axis", std::int64_t{1}) == 0;
  if (!is_per_channel || weights.scales.size() != channels) return std::nullopt;
  return weights;
}

bool computes_with_bytes(const ir::Subgraph& subgraph, const ir::Operation& conv) {
  const std::int64_t groups = conv.attributes.get_or("group", std::int64_t{1});
  if (groups == 1) return true;
  const auto shape = subgraph.operand(conv.input(1)).type.static_dims();
  // Depthwise: one input channel per group. Kernels of bytes exist for these two kinds.
  return shape && shape->size() >= 3 && (*shape)[0] == groups && (*shape)[1] == 1;
}

}  // namespace sluice::passes
