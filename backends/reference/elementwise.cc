#include "reference/elementwise.h"

namespace sluice::reference {

Status check_broadcast(const sluice_op& op) {
  std::vector<std::int64_t> dims;
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    if (plugin::is_absent(input.tensor)) continue;
    Status status = broadcast_dims(dims, plugin::dims_of(input.tensor), &dims);
    if (!status.is_ok()) return {status.code, plugin::kind_of(op) + ": " + status.text};
  }
  const Dims output = plugin::dims_of(op.outputs[0].tensor);
  const auto is_same = [](std::int64_t a, std::int64_t b) { return a == b || a < 0 || b < 0; };
  if (std::ranges::equal(dims, output, is_same)) return plugin::ok();
  return plugin::invalid_argument(plugin::kind_of(op) + ": inputs broadcast to " +
                                  plugin::to_string(dims) + ", the output is " +
                                  plugin::to_string(output));
}

Status unsupported_type(const sluice_op& op, sluice_element_type type) {
  return plugin::unimplemented(plugin::kind_of(op) + ": element type " + std::to_string(type) +
                               " is not supported");
}

sluice_element_type type_of_first_input(const sluice_op& op) {
  return op.inputs[0].tensor.element_type;
}

sluice_element_type bool_type(const sluice_op& /*op*/) { return plugin::kBool; }

}  // namespace sluice::reference
