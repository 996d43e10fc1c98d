#include "passes/fuse/norm_match.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::passes {

namespace {

/// Whether an attribute, which is f32, holds the number: it is 0 or normal there; beside numbers of
/// f64, all its digits count.
bool is_epsilon(double number, ir::ElementType element) {
  if (element == ir::ElementType::kF64 && number != static_cast<float>(number)) return false;
  return number == 0 || (number >= std::numeric_limits<float>::min() &&
                         number <= std::numeric_limits<float>::max());
}

}  // namespace

std::optional<std::int64_t> last_axes(const ir::Subgraph& subgraph, const ir::Operation& mean) {
  const ir::Shape* shape = subgraph.operand(mean.inputs[0]).type.shape();
  const ir::Constant* constant = subgraph.find_constant(mean.input(1));
  auto axes = constant ? ir::integer_values(*constant) : std::nullopt;
  if (shape == nullptr || !axes || axes->empty() ||
      mean.attributes.get_or("keepdims", std::int64_t{1}) == 0) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::int64_t>(shape->size());
  for (std::int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  std::sort(axes->begin(), axes->end());
  for (std::size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != rank - static_cast<std::int64_t>(axes->size() - i)) return std::nullopt;
  }
  return axes->front();
}

ir::OperandId squared_operand(const Matcher& matcher, ir::OperandId squared) {
  const ir::OperandId power = matcher.without_number(squared, "Pow", 2);
  if (power.is_valid()) return power;
  const ir::Operation* product = matcher.find(squared, "Mul");
  return product != nullptr && product->inputs[0] == product->inputs[1] ? product->inputs[0]
                                                                        : ir::OperandId();
}

std::optional<MeanRoot> match_mean_root(const Matcher& matcher, ir::OperandId id) {
  const ir::Operation* root = matcher.find(id, "Sqrt");
  if (root == nullptr) return std::nullopt;
  const ir::Operation* sum = matcher.find(root->inputs[0], "Add");
  const auto parts =
      sum ? matcher.with_number(*sum) : std::optional(std::pair(root->inputs[0], 0.0));
  const ir::Operation* mean = parts ? matcher.find(parts->first, "ReduceMean") : nullptr;
  if (mean == nullptr) return std::nullopt;
  const ir::ElementType element = matcher.subgraph().operand(parts->first).type.element();
  if (!is_epsilon(parts->second, element)) return std::nullopt;
  return MeanRoot{mean, parts->second};
}

bool is_shaped_as_rows(const ir::Subgraph& subgraph, ir::OperandId id, ir::OperandId x,
                       std::int64_t axis) {
  const ir::Shape* shape = subgraph.operand(id).type.shape();
  const ir::Shape* data = subgraph.operand(x).type.shape();
  return shape != nullptr && data != nullptr &&
         std::equal(shape->begin(), shape->end(), data->begin() + axis, data->end());
}

}  // namespace sluice::passes
