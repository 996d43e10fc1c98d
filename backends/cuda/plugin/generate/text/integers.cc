#include "plugin/generate/text/integers.h"

namespace sluice::cuda {

Status check_integers(const sluice_op& op, int input) {
  if (input < op.num_inputs) {
    const sluice_tensor& tensor = op.inputs[input].tensor;
    const bool is_integer =
        tensor.element_type == plugin::kI32 || tensor.element_type == plugin::kI64;
    if (is_integer && tensor.layout == SLUICE_LAYOUT_ROW_MAJOR) return plugin::ok();
  }
  return plugin::unimplemented(plugin::kind_of(op) + ": input " + std::to_string(input) +
                               " must be row-major int32 or int64");
}

Status check_constant_integers(const sluice_op& op, int input) {
  if (Status status = check_integers(op, input); !status.is_ok()) return status;
  if (constant_integers(op, input)) return plugin::ok();
  return plugin::unimplemented(plugin::kind_of(op) + ": input " + std::to_string(input) +
                               " must be a constant");
}

std::optional<std::vector<std::int64_t>> constant_integers(const sluice_op& op, int input) {
  const sluice_operand& operand = op.inputs[input];
  if (operand.is_constant == 0 || operand.tensor.data == nullptr) return std::nullopt;
  if (operand.tensor.element_type == plugin::kI32) {
    const auto values = plugin::elements<const std::int32_t>(operand.tensor);
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  const auto values = plugin::elements<const std::int64_t>(operand.tensor);
  return std::vector<std::int64_t>(values.begin(), values.end());
}

std::string array_text(const std::string& name, std::span<const std::int64_t> values) {
  std::string text = "  const long long " + name + "[] = {";
  for (const std::int64_t value : values) text += std::to_string(value) + ", ";
  return text + "};\n";
}

std::string read_integers(const sluice_op& op, int input, Parameters* parameters,
                          std::string* statements) {
  // A long list, such as the indices of an embedding, is better read than compiled.
  constexpr std::size_t kMaxInText = 64;
  const auto known = constant_integers(op, input);
  if (!known || known->empty() || known->size() > kMaxInText) return parameters->add(input);
  const std::string name = "n" + std::to_string(input);
  *statements += array_text(name, *known);
  return name;
}

}  // namespace sluice::cuda
