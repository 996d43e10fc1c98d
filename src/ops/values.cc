#include "ops/values.h"

#include <algorithm>
#include <utility>

namespace sluice::ops {
namespace {

constexpr std::size_t kMaxRank = 64;  // of a result whose rank is itself computed

bool can_hold_values(const ir::Type& type) {
  if (!type.is_tensor() || type.shape() == nullptr || type.shape()->size() > 1) return false;
  return ir::is_integer(type.element()) || type.element() == ir::ElementType::kBool;
}

}  // namespace

void pass_values(InferenceContext& context) {
  const Values* values = context.values(0);
  if (values != nullptr && can_hold_values(context.output(0))) {
    context.set_output_values(0, *values);
  }
}

void map_values(InferenceContext& context, ElementFn function) {
  if (!can_hold_values(context.output(0))) return;
  std::size_t count = 1;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    const Values* values = context.values(i);
    if (values == nullptr || values->empty()) return;
    if (values->size() != 1) count = values->size();
  }
  Values results;
  Values operands(context.num_inputs());
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Values& values = *context.values(i);
      if (values.size() != 1 && values.size() != count) return;
      operands[i] = values[values.size() == 1 ? 0 : k];
    }
    const std::optional<ir::Dim> result = function(operands);
    if (!result || result->is_overflow()) return;
    results.push_back(*result);
  }
  context.set_output_values(0, std::move(results));
}

ir::Dim product(std::span<const ir::Dim> dims) {
  ir::Dim result(1);
  for (const ir::Dim& dim : dims) result = result * dim;
  return result;
}

std::optional<std::int64_t> vector_length(const InferenceContext& context, std::size_t input) {
  const ir::Shape* shape = context.shape(input);
  if (shape == nullptr || shape->size() != 1 || !shape->front().is_known()) return std::nullopt;
  const std::int64_t length = shape->front().value();
  if (length < 0 || length > static_cast<std::int64_t>(kMaxRank)) return std::nullopt;
  return length;
}

ir::Shape unknown_shape(InferenceContext& context, std::int64_t count) {
  ir::Shape shape;
  for (std::int64_t i = 0; i < count; ++i) shape.push_back(context.unknown_dim());
  return shape;
}

}  // namespace sluice::ops
