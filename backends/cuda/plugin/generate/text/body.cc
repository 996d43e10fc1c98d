#include "plugin/generate/text/body.h"

#include <algorithm>
#include <bit>

#include "plugin/generate/text/formulas.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

bool is_only_a_body(const sluice_op& op) { return std::string_view(op.kind) == "Elementwise"; }

Status check_operand(const sluice_op& op, const sluice_tensor& tensor) {
  if (plugin::is_absent(tensor)) return plugin::ok();
  if (!is_real(tensor.element_type)) {
    return plugin::unimplemented(plugin::kind_of(op) + ": element type " +
                                 std::to_string(tensor.element_type) +
                                 "; its kernel takes f32, f16 and bf16");
  }
  if (tensor.layout == SLUICE_LAYOUT_ROW_MAJOR) return plugin::ok();
  return plugin::unimplemented(plugin::kind_of(op) + ": operands must be row-major");
}

/// Elements of a constant that stand in the text.
constexpr std::int64_t kMaxConstant = 4096;

std::string register_name(std::int32_t number) { return "r" + std::to_string(number); }

std::vector<std::string> inputs_of_step(const sluice_body_step& step) {
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < step.num_inputs; ++i) {
    names.push_back(step.inputs[i] < 0 ? "" : register_name(step.inputs[i]));
  }
  return names;
}

Status check_body(const sluice_op& op) {
  const sluice_body& body = *op.body;
  const Dims dims = plugin::dims_of(op.outputs[0].tensor);
  for (const sluice_operand& input : plugin::body_inputs_of(op)) {
    if (!broadcasts_to(plugin::dims_of(input.tensor), dims)) return shapes_disagree(op);
  }
  const std::int32_t num_own = is_only_a_body(op) ? 0 : 1;
  std::int32_t num_registers = num_own + op.num_body_inputs + body.num_constants;
  if (body.num_inputs != num_own + op.num_body_inputs || body.result < 0 ||
      body.result >= num_registers + body.num_steps) {
    return plugin::invalid_argument(plugin::kind_of(op) +
                                    ": the body names registers that are not there");
  }
  for (std::int32_t i = 0; i < body.num_constants; ++i) {
    const sluice_tensor& constant = body.constants[i];
    if (Status status = check_operand(op, constant); !status.is_ok()) return status;
    if (!broadcasts_to(plugin::dims_of(constant), dims)) return shapes_disagree(op);
    if (plugin::num_elements(constant) > kMaxConstant) {
      return plugin::unimplemented(plugin::kind_of(op) + ": a body's constant of " +
                                   std::to_string(plugin::num_elements(constant)) + " elements");
    }
  }
  for (std::int32_t i = 0; i < body.num_steps; ++i) {
    const sluice_body_step& step = body.steps[i];
    const std::span registers(step.inputs, static_cast<std::size_t>(step.num_inputs));
    if (std::ranges::any_of(registers, [&](std::int32_t r) { return r >= num_registers; })) {
      return plugin::invalid_argument(plugin::kind_of(op) + ": a body reads before it writes");
    }
    ++num_registers;
    std::string expression;
    Status status = write_formula(step.kind, step, inputs_of_step(step), &expression);
    if (!status.is_ok()) return {status.code, plugin::kind_of(op) + ": body: " + status.text};
  }
  return plugin::ok();
}

}  // namespace

Status check_floats(const sluice_op& op, int num_floats) {
  Status status = plugin::ok();
  const auto check = [&](const sluice_operand& operand) {
    if (status.is_ok()) status = check_operand(op, operand.tensor);
  };
  for (int i = 0; i < std::min(num_floats, op.num_inputs); ++i) {
    check(op.inputs[i]);
    const sluice_element_type type = op.inputs[i].tensor.element_type;
    if (status.is_ok() && type != plugin::kAbsent && type != op.outputs[0].tensor.element_type) {
      status = plugin::unimplemented(plugin::kind_of(op) + ": operands must be of one type");
    }
  }
  for (const sluice_operand& operand : plugin::body_inputs_of(op)) check(operand);
  for (const sluice_operand& operand : plugin::outputs_of(op)) check(operand);
  if (status.is_ok() && op.num_outputs != 1) {
    status = plugin::unimplemented(plugin::kind_of(op) + ": kernels have one output");
  }
  return status.is_ok() && op.body != nullptr ? check_body(op) : status;
}

Status check_moved(const sluice_op& op, int num_moved) {
  const sluice_tensor& output = op.outputs[0].tensor;
  if (op.body != nullptr) return check_floats(op, num_moved);
  if (type_name(output.element_type).empty()) {
    return plugin::unimplemented(plugin::kind_of(op) + ": no kernel for element type " +
                                 std::to_string(output.element_type));
  }
  const auto fits = [&](const sluice_operand& operand) {
    return operand.tensor.layout == SLUICE_LAYOUT_ROW_MAJOR &&
           operand.tensor.element_type == output.element_type;
  };
  const auto moved =
      plugin::inputs_of(op).first(static_cast<std::size_t>(std::min(num_moved, op.num_inputs)));
  const auto outputs = plugin::outputs_of(op);
  if (std::ranges::all_of(moved, fits) && std::ranges::all_of(outputs, fits)) return plugin::ok();
  return plugin::unimplemented(plugin::kind_of(op) + ": operands must be row-major, of one type");
}

void add_body_inputs(const sluice_op& op, Parameters* parameters) {
  for (int i = 0; i < op.num_body_inputs; ++i) parameters->add(op.num_inputs + i);
}

std::string constants_text(const sluice_op& op) {
  std::string text;
  for (std::int32_t i = 0; op.body != nullptr && i < op.body->num_constants; ++i) {
    const sluice_tensor& constant = op.body->constants[i];
    const auto count = static_cast<std::size_t>(plugin::num_elements(constant));
    if (count == 1) continue;
    text += "static __device__ const int c" + std::to_string(i) + "[] = {";
    for (std::size_t j = 0; j < count; ++j) {
      text += std::to_string(std::bit_cast<std::int32_t>(real_at(constant, j))) + ", ";
    }
    text += "};  // bits of floats\n";
  }
  return text;
}

std::string apply_body(const sluice_op& op, const std::string& value, const std::string& index,
                       const std::function<std::string(int input)>& read, std::string* result) {
  *result = value;
  if (op.body == nullptr) return "";
  const sluice_body& body = *op.body;
  const Dims dims = plugin::dims_of(op.outputs[0].tensor);
  std::string text;
  std::int32_t next = 0;
  const auto define = [&](const std::string& expression) {
    text += "  const float " + register_name(next++) + " = " + expression + ";\n";
  };
  if (!is_only_a_body(op)) define(value);
  for (int i = 0; i < op.num_body_inputs; ++i) define(read(i));
  for (std::int32_t i = 0; i < body.num_constants; ++i) {
    if (plugin::num_elements(body.constants[i]) == 1) {
      define(literal(real_at(body.constants[i], 0)));
      continue;
    }
    const std::string at = broadcast_index(index, plugin::dims_of(body.constants[i]), dims);
    define("__int_as_float(c" + std::to_string(i) + "[" + at + "])");
  }
  for (std::int32_t i = 0; i < body.num_steps; ++i) {
    std::string expression;
    const Status status = write_formula(body.steps[i].kind, body.steps[i],
                                        inputs_of_step(body.steps[i]), &expression);
    define(status.is_ok() ? expression : "no_formula");  // check_floats has found one
  }
  *result = register_name(body.result);
  return text;
}

std::string store_result(const sluice_op& op, const std::string& value, const std::string& index) {
  const Dims dims = plugin::dims_of(op.outputs[0].tensor);
  const auto read = [&](int i) {
    const Dims input = plugin::dims_of(op.body_inputs[i].tensor);
    return "x" + std::to_string(op.num_inputs + i) + "[" + broadcast_index(index, input, dims) +
           "]";
  };
  std::string result;
  const std::string text = apply_body(op, value, index, read, &result);
  return text + "  y[" + index + "] = " + result + ";\n";
}

Status write_kernel(const sluice_op& op, Parameters parameters, const ElementKernel& kernel,
                    Source* source) {
  const std::int64_t count = plugin::num_elements(op.outputs[0].tensor);
  add_body_inputs(op, &parameters);
  source->text = constants_text(op) + kernel_head(parameters, std::max(count, kernel.largest)) +
                 find_element(kernel.threads, count) + kernel.statements +
                 store_result(op, kernel.value, "i") + "}\n";
  source->block = {kernel.threads, 1, 1};
  source->operands = parameters.operands();
  source->reports_indices = parameters.reports_indices();
  return set_grid(count, kernel.threads, source) ? plugin::ok() : too_large(op);
}

}  // namespace sluice::cuda
