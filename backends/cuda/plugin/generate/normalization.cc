// LayerNormalization and RMSNormalization: threads share a row, which they read once where
// registers have room for it.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/rows.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"LayerNormalization", "RMSNormalization", nullptr};

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

bool has_mean(const sluice_op& op) { return std::string_view(op.kind) == "LayerNormalization"; }

/// Sums that the thread's row shares: `mean`, which RMSNormalization does without, and `scale`.
std::string statistics(const sluice_op& op, const RowPlan& plan, float epsilon) {
  const std::string v = value_in_row(plan);
  const std::string size = std::to_string(plan.size) + ".0f";
  const std::string difference = "  const float difference = " + v + " - mean;\n";
  const std::string mean = "  float sum = 0.0f;\n" +
                           each_element(plan, "from + p", "  sum += " + v + ";\n") +
                           "  const float mean = sum_of_row(sum) / " + size + ";\n";
  return (has_mean(op) ? mean : "  constexpr float mean = 0.0f;\n") + "  float squares = 0.0f;\n" +
         each_element(plan, "from + p", difference + "  squares += difference * difference;\n") +
         "  const float scale = 1.0f / sqrtf(sum_of_row(squares) / " + size + " + " +
         literal(epsilon) + ");\n";
}

Status write(const sluice_op& op, Source* source) {
  constexpr int kFewRuns = 4;  // whose other operands the thread has room for as well
  const Dims dims = plugin::dims_of(op.inputs[0].tensor);
  const std::int64_t count = plugin::num_elements(dims);
  const std::int64_t size =
      plugin::num_elements(dims.subspan(static_cast<std::size_t>(axis_of(op))));
  const int bytes = static_cast<int>(plugin::element_bits(op.inputs[0].tensor.element_type) / 8);
  const RowPlan plan = plan_rows(count / size, size, longest_run(size, widest_run(bytes)));
  const bool reads_ahead = plan.is_kept && plan.runs <= kFewRuns;
  RunReader reader(op, plan.run, reads_ahead);
  Parameters parameters(op);
  parameters.add(0);
  std::string value = "(" + value_in_row(plan) + " - mean) * scale";
  for (int input = 1; input < op.num_inputs; ++input) {
    if (plugin::is_absent(op.inputs[input].tensor)) continue;
    const std::string name = parameters.add(input);
    value += (input == 1 ? " * " : " + ") + reader.read(name, op.inputs[input].tensor);
  }
  add_body_inputs(op, &parameters);
  const std::string store = store_run(op, value, &reader);
  const std::string i = "  const Index i = start + p;\n";
  const float epsilon = plugin::Attributes(op).get_float("epsilon", 1e-5F);
  const std::string functions = run_functions(op, plan.run) + row_constants(plan) +
                                row_function("sum_of_row", "a + b", plan.lanes);
  source->text =
      constants_text(op) + kernel_head(parameters, count, functions) + find_shared_row(plan) +
      "  const Index start = row * kSize;\n  const auto* from = x0 + start;\n" +
      keep_row(plan, "from + p") + reader.declarations() +
      (reads_ahead ? each_run(plan, i + reader.loads()) : "") + statistics(op, plan, epsilon) +
      leave_rows(plan) +
      each_run(plan,
               i + read_in_row(plan, "from + p") + (reads_ahead ? "" : reader.loads()) + store) +
      "}\n";
  source->operands = parameters.operands();
  return set_grid(plan, source) ? plugin::ok() : too_large(op);
}

}  // namespace

const Family kNormalizationFamily = {kKinds, check, write};

}  // namespace sluice::cuda
