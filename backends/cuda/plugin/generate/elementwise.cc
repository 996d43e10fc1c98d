// A thread computes a run of neighbours.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/exact_formulas.h"
#include "plugin/generate/text/formulas.h"
#include "plugin/generate/text/runs.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"sluice::Elementwise",
                                  "Abs",
                                  "Acos",
                                  "Acosh",
                                  "Add",
                                  "And",
                                  "Asin",
                                  "Asinh",
                                  "Atan",
                                  "Atanh",
                                  "BitShift",
                                  "BitwiseAnd",
                                  "BitwiseNot",
                                  "BitwiseOr",
                                  "BitwiseXor",
                                  "Cast",
                                  "CastLike",
                                  "Ceil",
                                  "Celu",
                                  "Clip",
                                  "Cos",
                                  "Cosh",
                                  "Div",
                                  "Elu",
                                  "Equal",
                                  "Erf",
                                  "Exp",
                                  "Expand",
                                  "Floor",
                                  "Gelu",
                                  "Greater",
                                  "GreaterOrEqual",
                                  "HardSigmoid",
                                  "HardSwish",
                                  "IsInf",
                                  "IsNaN",
                                  "LeakyRelu",
                                  "Less",
                                  "LessOrEqual",
                                  "Log",
                                  "Max",
                                  "Min",
                                  "Mish",
                                  "Mod",
                                  "Mul",
                                  "Neg",
                                  "Not",
                                  "Or",
                                  "PRelu",
                                  "Pow",
                                  "Reciprocal",
                                  "Relu",
                                  "Round",
                                  "Selu",
                                  "Shrink",
                                  "Sigmoid",
                                  "Sign",
                                  "Sin",
                                  "Sinh",
                                  "Softplus",
                                  "Softsign",
                                  "Sqrt",
                                  "Sub",
                                  "Sum",
                                  "Tan",
                                  "Tanh",
                                  "ThresholdedRelu",
                                  "Where",
                                  "Xor",
                                  nullptr};

bool is_only_a_body(const sluice_op& op) { return std::string_view(op.domain) == "sluice"; }

/// Inputs that are values; the second one of Expand and CastLike says what the output has already.
int num_values(const sluice_op& op) {
  const std::string_view kind = op.kind;
  return kind == "Expand" || kind == "CastLike" ? std::min(1, op.num_inputs) : op.num_inputs;
}

/// The values, but for the exponent of a power, which may have another type.
int num_of_one_type(const sluice_op& op) {
  return std::string_view(op.kind) == "Pow" ? 1 : num_values(op);
}

/// Whether all values and the result are computed as floats.
bool is_all_real(const sluice_op& op) {
  const sluice_element_type result = op.outputs[0].tensor.element_type;
  const int num_same = num_of_one_type(op);
  for (int i = 0; i < num_values(op); ++i) {
    const sluice_tensor& input = op.inputs[i].tensor;
    if (plugin::is_absent(input)) continue;
    if (i < num_same ? input.element_type != result : !is_real(input.element_type)) return false;
  }
  return is_real(result);
}

/// The operation's own result; inputs are named by `name_of`.
template <typename NameOf>
Status own_result(const sluice_op& op, const NameOf& name_of, std::string* expression) {
  std::vector<std::string> names;
  for (int i = 0; i < num_values(op); ++i) {
    names.push_back(plugin::is_absent(op.inputs[i].tensor) ? "" : name_of(i));
  }
  if (is_all_real(op) && write_formula(op.kind, op, names, expression).is_ok()) return plugin::ok();
  return write_exact_formula(op, names, expression);
}

Status check_layouts(const sluice_op& op) {
  const auto is_row_major = [](const sluice_operand& operand) {
    return operand.tensor.layout == SLUICE_LAYOUT_ROW_MAJOR;
  };
  if (op.num_outputs == 1 && std::ranges::all_of(plugin::inputs_of(op), is_row_major) &&
      is_row_major(op.outputs[0])) {
    return plugin::ok();
  }
  return plugin::unimplemented(plugin::kind_of(op) + ": operands must be row-major");
}

Status check(const sluice_op& op) {
  const bool needs_floats = is_only_a_body(op) || op.body != nullptr;
  Status status = needs_floats ? check_floats(op, num_of_one_type(op)) : check_layouts(op);
  if (!status.is_ok() || is_only_a_body(op)) return status;
  for (const sluice_operand& input :
       plugin::inputs_of(op).first(static_cast<std::size_t>(num_values(op)))) {
    const bool fits =
        broadcasts_to(plugin::dims_of(input.tensor), plugin::dims_of(op.outputs[0].tensor));
    if (!plugin::is_absent(input.tensor) && !fits) return shapes_disagree(op);
  }
  for (int i = 1; std::string_view(op.kind) == "Clip" && i < op.num_inputs; ++i) {
    const bool is_bound = plugin::is_absent(op.inputs[i].tensor) || op.inputs[i].tensor.rank == 0;
    if (!is_bound) return plugin::invalid_argument("Clip: a bound is a scalar");
  }
  std::string expression;
  return own_result(
      op, [](int) { return std::string("x"); }, &expression);
}

/// Neighbours that a thread computes. Each operand has one element for all of them, or neighbours
/// as well, unless that leaves very short runs.
int choose_even_run(const sluice_op& op) {
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  const int widest = choose_run(op, plugin::num_elements(y));
  const auto is_even = [&](const sluice_operand& operand, int run) {
    return plugin::is_absent(operand.tensor) ||
           along_run(plugin::dims_of(operand.tensor), y, run) != Along::kMixed;
  };
  const auto own = plugin::inputs_of(op).first(static_cast<std::size_t>(num_values(op)));
  const auto are_even = [&](int run) {
    const auto check = [&](const sluice_operand& operand) { return is_even(operand, run); };
    return std::ranges::all_of(own, check) &&
           std::ranges::all_of(plugin::body_inputs_of(op), check);
  };
  int run = widest;
  while (run > 1 && !are_even(run)) run /= 2;
  return run * 2 >= widest ? run : widest;
}

Status write(const sluice_op& op, Source* source) {
  Parameters parameters(op);
  RunKernel kernel;
  kernel.run = choose_even_run(op);
  RunReader reader(op, kernel.run);
  if (!is_only_a_body(op)) {
    const Status status = own_result(
        op, [&](int i) { return reader.read(parameters.add(i), op.inputs[i].tensor); },
        &kernel.value);
    if (!status.is_ok()) return status;
  }
  return write_run_kernel(op, std::move(parameters), kernel, &reader, source);
}

}  // namespace

const Family kElementwiseFamily = {kKinds, check, write};

}  // namespace sluice::cuda
