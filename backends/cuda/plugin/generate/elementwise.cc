// One thread per element.

#include "plugin/generate/body.h"
#include "plugin/generate/families.h"
#include "plugin/generate/formulas.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"sluice::Elementwise",
                                  "Abs",
                                  "Acos",
                                  "Acosh",
                                  "Add",
                                  "Asin",
                                  "Asinh",
                                  "Atan",
                                  "Atanh",
                                  "Ceil",
                                  "Celu",
                                  "Clip",
                                  "Cos",
                                  "Cosh",
                                  "Div",
                                  "Elu",
                                  "Erf",
                                  "Exp",
                                  "Expand",
                                  "Floor",
                                  "Gelu",
                                  "HardSigmoid",
                                  "HardSwish",
                                  "LeakyRelu",
                                  "Log",
                                  "Max",
                                  "Min",
                                  "Mish",
                                  "Mul",
                                  "Neg",
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
                                  nullptr};

bool is_only_a_body(const sluice_op& op) { return std::string_view(op.domain) == "sluice"; }

/// Inputs that are values; Expand's second one is a shape, which the output has already.
int num_values(const sluice_op& op) {
  return std::string_view(op.kind) == "Expand" ? 1 : op.num_inputs;
}

/// The operation's own result; inputs are named by `name_of`.
template <typename NameOf>
Status own_result(const sluice_op& op, const NameOf& name_of, std::string* expression) {
  std::vector<std::string> names;
  for (int i = 0; i < num_values(op); ++i) {
    names.push_back(plugin::is_absent(op.inputs[i].tensor) ? "" : name_of(i));
  }
  return write_formula(op.kind, op, names, expression);
}

Status check(const sluice_op& op) {
  if (Status status = check_floats(op, num_values(op)); !status.is_ok()) return status;
  if (is_only_a_body(op)) return plugin::ok();
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

Status write(const sluice_op& op, Source* source) {
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  Parameters parameters;
  std::string value;
  if (!is_only_a_body(op)) {
    const Status status = own_result(
        op,
        [&](int i) {
          const Dims dims = plugin::dims_of(op.inputs[i].tensor);
          return parameters.add(i) + "[" + broadcast_index("i", dims, y) + "]";
        },
        &value);
    if (!status.is_ok()) return status;
  }
  return write_kernel(op, std::move(parameters), {value}, source);
}

}  // namespace

const Family kElementwiseFamily = {kKinds, check, write};

}  // namespace sluice::cuda
