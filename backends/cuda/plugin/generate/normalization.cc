// LayerNormalization: a warp per row, which it reads three times.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/warp_rows.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"LayerNormalization", nullptr};

std::int64_t axis_of(const sluice_op& op) {
  const std::int64_t axis = plugin::Attributes(op).get_int("axis", -1);
  return axis < 0 ? axis + op.inputs[0].tensor.rank : axis;
}

Status check(const sluice_op& op) {
  if (Status status = check_floats(op, op.num_inputs); !status.is_ok()) return status;
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  if (!agree(x, plugin::dims_of(op.outputs[0].tensor))) return shapes_disagree(op);
  for (const sluice_operand& input : plugin::inputs_of(op).subspan(1)) {
    if (!broadcasts_to(plugin::dims_of(input.tensor), x)) return shapes_disagree(op);
  }
  const std::int64_t axis = axis_of(op);
  if (axis >= 0 && axis < static_cast<std::int64_t>(x.size())) return plugin::ok();
  return plugin::unimplemented(plugin::kind_of(op) + ": no such axis");
}

/// The element's factor or term of input `operand`.
std::string element_of(const sluice_op& op, int operand, Parameters* parameters) {
  const Dims dims = plugin::dims_of(op.inputs[operand].tensor);
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  return parameters->add(operand) + "[" + broadcast_index("i", dims, x) + "]";
}

Status write(const sluice_op& op, Source* source) {
  const Dims dims = plugin::dims_of(op.inputs[0].tensor);
  const std::int64_t count = plugin::num_elements(dims);
  const std::int64_t size =
      plugin::num_elements(dims.subspan(static_cast<std::size_t>(axis_of(op))));
  Parameters parameters(op);
  const std::string x = parameters.add(0);
  std::string value = "(" + x + "[i] - mean) * scale";
  if (op.num_inputs > 1) value += " * " + element_of(op, 1, &parameters);
  const bool has_bias = op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
  if (has_bias) value += " + " + element_of(op, 2, &parameters);
  add_body_inputs(op, &parameters);
  const std::string width = std::to_string(size);
  const std::string start = "  for (Index i = row * " + width + " + threadIdx.x; i < (row + 1) * " +
                            width + "; i += 32) ";
  const float epsilon = plugin::Attributes(op).get_float("epsilon", 1e-5F);
  source->text = warp_function("sum_of_warp", "a + b") + constants_text(op) +
                 kernel_head(parameters, count) + find_row(count / size) + "  float sum = 0.0f;\n" +
                 start + "sum += " + x + "[i];\n  const float mean = sum_of_warp(sum) / " + width +
                 ".0f;\n  float squares = 0.0f;\n" + start + "squares += (" + x +
                 "[i] - mean) * (" + x +
                 "[i] - mean);\n  const float scale = 1.0f / sqrtf(sum_of_warp(squares) / " +
                 width + ".0f + " + literal(epsilon) + ");\n" + start + "{\n" +
                 store_result(op, value, "i") + "  }\n}\n";
  source->operands = parameters.operands();
  return set_row_grid(count / size, source) ? plugin::ok() : too_large(op);
}

}  // namespace

const Family kNormalizationFamily = {kKinds, check, write};

}  // namespace sluice::cuda
