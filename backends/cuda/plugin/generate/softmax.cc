// Softmax and LogSoftmax: threads share a row, which they read once where registers have room for
// it. Rows whose elements are apart have a thread each.

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/rows.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"LogSoftmax", "Softmax", nullptr};

/// Element j of row r lies at r / inner * (size * inner) + r % inner + j * inner.
struct Rows {
  std::int64_t count = 1, size = 1, inner = 1;
};

std::int64_t axis_of(const sluice_op& op) {
  const std::int64_t axis = plugin::Attributes(op).get_int("axis", op.version < 13 ? 1 : -1);
  return axis < 0 ? axis + op.inputs[0].tensor.rank : axis;
}

/// Before version 13 of the operator, a row spans `axis` and all axes after it.
Rows rows_of(const sluice_op& op) {
  const Dims dims = plugin::dims_of(op.inputs[0].tensor);
  const bool joins_axes = op.version < 13;
  const auto first = static_cast<std::size_t>(axis_of(op));
  Rows rows;
  rows.size = plugin::num_elements(joins_axes ? dims.subspan(first) : dims.subspan(first, 1));
  rows.inner = joins_axes ? 1 : plugin::num_elements(dims.subspan(first + 1));
  rows.count = plugin::num_elements(dims) / rows.size;
  return rows;
}

Status check(const sluice_op& op) {
  if (Status status = check_floats(op, 1); !status.is_ok()) return status;
  const Dims dims = plugin::dims_of(op.inputs[0].tensor);
  if (!agree(dims, plugin::dims_of(op.outputs[0].tensor))) return shapes_disagree(op);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const std::int64_t axis = axis_of(op);
  if (axis >= 0 && axis < rank) return plugin::ok();
  return plugin::unimplemented(plugin::kind_of(op) + ": a tensor of rank " + std::to_string(rank) +
                               " has no such axis");
}

RowPlan plan_of(const Rows& rows, int bytes) {
  // A thread for a row of more elements than this walks for long.
  constexpr std::int64_t kShort = 256;
  if (rows.inner == 1) {
    return plan_rows(rows.count, rows.size, longest_run(rows.size, widest_run(bytes)));
  }
  return rows.size <= kShort && rows.inner >= 8 ? plan_columns(rows.count, rows.size)
                                                : plan_rows(rows.count, rows.size, 1);
}

/// What the thread's row shares: `largest` and `sum`. A thread that keeps its elements keeps their
/// powers from now on, but for the logarithm.
std::string statistics(const RowPlan& plan, const std::string& address, bool is_log) {
  const std::string v = value_in_row(plan);
  const std::string power = "expf(" + v + " - largest)";
  const bool keeps_powers = plan.is_kept && !is_log;
  return "  float largest = __int_as_float(0xff800000);\n" +
         each_element(
             plan, address,
             "  const float b = " + v + ";\n  largest = largest < b || b != b ? b : largest;\n") +
         "  largest = max_of_row(largest);\n  float sum = 0.0f;\n" +
         each_element(plan, address,
                      keeps_powers ? "  " + v + " = " + power + ";\n  sum += " + v + ";\n"
                                   : "  sum += " + power + ";\n") +
         "  sum = sum_of_row(sum);\n" + (is_log ? "  const float log_sum = logf(sum);\n" : "");
}

Status write(const sluice_op& op, Source* source) {
  const Rows rows = rows_of(op);
  const std::string inner = std::to_string(rows.inner);
  const int bytes = static_cast<int>(plugin::element_bits(op.inputs[0].tensor.element_type) / 8);
  const RowPlan plan = plan_of(rows, bytes);
  const bool is_log = std::string_view(op.kind) == "LogSoftmax";
  const std::string v = value_in_row(plan);
  const std::string power = plan.is_kept ? v : "expf(" + v + " - largest)";
  Parameters parameters(op);
  parameters.add(0);
  add_body_inputs(op, &parameters);
  RunReader reader(op, plan.run);
  const std::string value = is_log ? "(" + v + " - largest - log_sum)" : "(" + power + " / sum)";
  const std::string store = store_run(op, value, &reader);
  const std::string address = rows.inner == 1 ? "from + p" : "from + p * " + inner;
  const std::string functions = run_functions(op, plan.run) + row_constants(plan) +
                                row_function("max_of_row", "a < b || b != b ? b : a", plan.lanes) +
                                row_function("sum_of_row", "a + b", plan.lanes);
  source->text = constants_text(op) +
                 kernel_head(parameters, plugin::num_elements(op.outputs[0].tensor), functions) +
                 find_shared_row(plan) + "  const Index start = row / " + inner + " * " +
                 std::to_string(rows.size * rows.inner) + " + row % " + inner +
                 ";\n  const auto* from = x0 + start;\n" + keep_row(plan, address) +
                 statistics(plan, address, is_log) + leave_rows(plan) +
                 each_run(plan, "  const Index i = start + p * " + inner + ";\n" +
                                    read_in_row(plan, address) + reader.loads() + store) +
                 "}\n";
  source->operands = parameters.operands();
  return set_grid(plan, source) ? plugin::ok() : too_large(op);
}

}  // namespace

const Family kSoftmaxFamily = {kKinds, check, write};

}  // namespace sluice::cuda
