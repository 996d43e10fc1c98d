// Softmax and LogSoftmax: a warp per row, which it reads three times.

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/warp_rows.h"

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

Status write(const sluice_op& op, Source* source) {
  const Rows rows = rows_of(op);
  const std::int64_t count = plugin::num_elements(op.outputs[0].tensor);
  const std::string size = std::to_string(rows.size);
  const std::string inner = std::to_string(rows.inner);
  Parameters parameters(op);
  const std::string x = parameters.add(0);
  add_body_inputs(op, &parameters);
  const std::string loop = "  for (Index j = threadIdx.x; j < " + size + "; j += 32) ";
  const std::string element = x + "[start + j * " + inner + "]";
  const bool is_log = std::string_view(op.kind) == "LogSoftmax";
  source->text = warp_function("max_of_warp", "a < b || b != b ? b : a") +
                 warp_function("sum_of_warp", "a + b") + constants_text(op) +
                 kernel_head(parameters, count) + find_row(rows.count) +
                 "  const Index start = row / " + inner + " * " +
                 std::to_string(rows.size * rows.inner) + " + row % " + inner +
                 ";\n  float largest = __int_as_float(0xff800000);\n" + loop +
                 "{\n    const float v = " + element +
                 ";\n    largest = largest < v || v != v ? v : largest;\n  }\n" +
                 "  largest = max_of_warp(largest);\n  float sum = 0.0f;\n" + loop +
                 "sum += expf(" + element + " - largest);\n  sum = sum_of_warp(sum);\n" +
                 (is_log ? "  const float log_sum = logf(sum);\n" : "") + loop +
                 "{\n  const Index i = start + j * " + inner + ";\n" +
                 store_result(op,
                              is_log ? "(" + x + "[i] - largest - log_sum)"
                                     : "(expf(" + x + "[i] - largest) / sum)",
                              "i") +
                 "  }\n}\n";
  source->operands = parameters.operands();
  return set_row_grid(rows.count, source) ? plugin::ok() : too_large(op);
}

}  // namespace

const Family kSoftmaxFamily = {kKinds, check, write};

}  // namespace sluice::cuda
