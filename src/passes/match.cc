#include "passes/match.h"

#include <cmath>

namespace sluice::passes {

std::optional<double> scalar_value(const ir::Subgraph& subgraph, ir::OperandId id) {
  const ir::Constant* constant = subgraph.find_constant(id);
  if (constant == nullptr || ir::num_elements(*constant->type.shape()) != 1) return std::nullopt;
  if (const auto values = ir::float_values(*constant)) return values->front();
  if (const auto values = ir::integer_values(*constant)) {
    return static_cast<double>(values->front());
  }
  return std::nullopt;
}

namespace {

/// Whether all float types hold the number: it has at most 8 binary digits.
bool is_short(double number) {
  // The significand of bf16, the shortest of the float types, has 8 digits.
  int power = 0;
  const double digits = std::ldexp(std::frexp(number, &power), 8);
  return digits == std::nearbyint(digits);
}

}  // namespace

bool is_near(double number, double wanted, ir::ElementType element) {
  if (is_short(wanted)) return number == wanted;
  const double tolerance = element == ir::ElementType::kF64 ? 1e-12 : 1e-5;
  // A constant such as sqrt(2/pi) is no short number, and exporters print it with six digits or
  // more.
  return std::isfinite(number) && std::abs(number - wanted) <= tolerance * std::abs(wanted);
}

bool same_type(const ir::Subgraph& subgraph, ir::OperandId a, ir::OperandId b) {
  const ir::Type& type = subgraph.operand(a).type;
  return type.is_tensor() && type.shape() != nullptr && type == subgraph.operand(b).type;
}

bool is_moderate(double number) {
  constexpr double kMost = 0x1p64;
  return std::abs(number) <= kMost && std::abs(number) >= 1 / kMost;
}

bool is_inference_dropout(const ir::Subgraph& subgraph, const ir::Operation& dropout) {
  const ir::OperandId mode = dropout.input(2);
  if (!mode.is_valid()) return true;
  const ir::Constant* constant = subgraph.find_constant(mode);
  // A mode that the run gives may be true, so only a constant false counts.
  const auto value = constant ? ir::integer_values(*constant) : std::nullopt;
  return value && value->size() == 1 && value->front() == 0;
}

const ir::Operation* Matcher::find(ir::OperandId id, std::string_view kind) const {
  if (!id.is_valid() || !uses_.producer(id).is_valid()) return nullptr;
  const ir::Operation& operation = subgraph_.operation(uses_.producer(id));
  const bool fits = operation.is(kind) && operation.output(0) == id && !operation.body;
  return fits ? &operation : nullptr;
}

const ir::Operation* Matcher::only_reader(ir::OperandId id, ir::OperationId* at) const {
  if (!uses_.has_single_use(id)) return nullptr;
  *at = uses_.readers(id).front();
  return &subgraph_.operation(*at);
}

ir::OperandId Matcher::other_input(const ir::Operation& operation, ir::OperandId known) {
  if (operation.inputs.size() != 2 || !known.is_valid()) return {};
  if (operation.inputs[0] == known) return operation.inputs[1];
  return operation.inputs[1] == known ? operation.inputs[0] : ir::OperandId();
}

std::optional<std::pair<ir::OperandId, double>> Matcher::with_number(
    const ir::Operation& operation) const {
  if (operation.inputs.size() != 2) return std::nullopt;
  const bool commutes = operation.is("Add") || operation.is("Mul");
  for (const std::size_t i : {1, 0}) {
    // The right side first: in Sub and Div the number is on the right or it does not count.
    if (i == 0 && !commutes) break;
    const auto number = scalar_value(subgraph_, operation.inputs[i]);
    if (number && operation.inputs[1 - i].is_valid()) {
      return std::make_pair(operation.inputs[1 - i], *number);
    }
  }
  return std::nullopt;
}

ir::OperandId Matcher::without_number(ir::OperandId id, std::string_view kind,
                                      double number) const {
  const ir::Operation* operation = find(id, kind);
  const auto parts = operation ? with_number(*operation) : std::nullopt;
  if (!parts) return {};
  const ir::ElementType element = subgraph_.operand(parts->first).type.element();
  return is_near(parts->second, number, element) ? parts->first : ir::OperandId();
}

bool is_plain_product(const ir::Operation& product) {
  const ir::Attributes& attributes = product.attributes;
  return attributes.get_or("alpha", 1.0F) == 1.0F &&
         (attributes.get_or("beta", 1.0F) == 1.0F || !product.input(2).is_valid()) &&
         attributes.get_or("transA", std::int64_t{0}) == 0;
}

}  // namespace sluice::passes
