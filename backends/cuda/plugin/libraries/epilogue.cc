#include "plugin/libraries/epilogue.h"

#include <algorithm>
#include <optional>

namespace sluice::cuda {
namespace {

using Dims = std::span<const std::int64_t>;

/// `dims`, stretched to `output`, has its elements along one axis alone.
bool is_vector_along(Dims dims, Dims output, std::size_t axis) {
  if (dims.size() > output.size()) return false;
  const std::size_t offset = output.size() - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != (i + offset == axis ? output[axis] : 1)) return false;
  }
  return axis >= offset;
}

int count_uses(const sluice_body& body, std::int32_t number) {
  int count = body.result == number ? 1 : 0;
  for (std::int32_t i = 0; i < body.num_steps; ++i) {
    const sluice_body_step& step = body.steps[i];
    count += static_cast<int>(std::count(step.inputs, step.inputs + step.num_inputs, number));
  }
  return count;
}

/// The register that a step adds to `sum`; nothing if it does something else.
std::optional<std::int32_t> added_to(const sluice_body_step& step, std::int32_t sum) {
  if (std::string_view(step.kind) != "Add" || step.num_inputs != 2) return std::nullopt;
  if (step.inputs[0] == sum) return step.inputs[1];
  if (step.inputs[1] == sum) return step.inputs[0];
  return std::nullopt;
}

bool is_relu_of(const sluice_body_step& step, std::int32_t value) {
  return std::string_view(step.kind) == "Relu" && step.num_inputs == 1 && step.inputs[0] == value;
}

}  // namespace

Epilogue match_epilogue(const sluice_op& op, std::size_t axis, Epilogue own,
                        EpilogueAbilities abilities) {
  own.num_steps = 0;
  if (op.body == nullptr) return own;
  const sluice_body& body = *op.body;
  const sluice_tensor& output = op.outputs[0].tensor;
  const Dims dims = plugin::dims_of(output);
  const std::int32_t first_result = body.num_inputs + body.num_constants;
  std::int32_t sum = 0;  // the register that the library has computed so far
  for (std::int32_t i = 0; i < body.num_steps; ++i) {
    if (own.has_relu || count_uses(body, sum) != 1) break;
    if (abilities.relu && is_relu_of(body.steps[i], sum)) {
      own.has_relu = true;
      own.num_steps = i + 1;
      continue;
    }
    const auto other = added_to(body.steps[i], sum);
    if (!other || *other < 1 || *other >= body.num_inputs) break;
    const sluice_tensor& tensor = op.body_inputs[*other - 1].tensor;
    if (tensor.element_type != output.element_type) break;
    const int operand = op.num_inputs + *other - 1;
    if (own.bias < 0 && is_vector_along(plugin::dims_of(tensor), dims, axis)) {
      own.bias = operand;
    } else if (abilities.addend && own.addend < 0 &&
               std::ranges::equal(plugin::dims_of(tensor), dims)) {
      own.addend = operand;
    } else {
      break;
    }
    own.num_steps = i + 1;
    sum = first_result + i;
  }
  return own;
}

}  // namespace sluice::cuda
