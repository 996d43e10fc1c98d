// Tensors joined along an axis, and cut.
#include <algorithm>

#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

/// `part` has the dimensions of `whole` but along `axis`.
bool is_part(Dims part, Dims whole, std::size_t axis) {
  if (part.size() != whole.size()) return false;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (d != axis && part[d] != whole[d]) return false;
  }
  return true;
}

Status check_concat(const sluice_op& op) {
  const sluice_element_type type = op.outputs[0].tensor.element_type;
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    if (input.tensor.element_type != type) return refuse(op, "inputs of other element types");
  }
  return check_movable(op, 0);
}

Status run_concat(const Call& call) {
  const Dims whole = dims_of(call.output(0));
  std::size_t axis = 0;
  Status status = normalize_axis(call.op(), call.attributes().get_int("axis"), whole.size(), &axis);
  if (!status.is_ok()) return status;
  std::int64_t total = 0;
  for (int k = 0; k < call.num_inputs(); ++k) {
    const Dims part = dims_of(call.input(k));
    if (!is_part(part, whole, axis)) return refuse(call.op(), "inputs do not fit together");
    total += part[axis];
  }
  if (total != whole[axis]) return refuse(call.op(), "inputs do not add up to the output");
  const AxisView to(whole, axis);
  std::int64_t start = 0;
  for (int k = 0; k < call.num_inputs(); ++k) {
    const AxisView from(dims_of(call.input(k)), axis);
    const Mover mover(call.input(k), call.output(0));
    const std::int64_t run = from.size * from.inner;
    for (std::int64_t outer = 0; outer < to.outer; ++outer) {
      mover.copy(outer * run, (outer * to.size + start) * to.inner, run);
    }
    start += from.size;
  }
  return plugin::ok();
}

Status check_split(const sluice_op& op) {
  const sluice_element_type type = op.inputs[0].tensor.element_type;
  for (const sluice_operand& output : plugin::outputs_of(op)) {
    if (output.tensor.element_type != type) return refuse(op, "outputs of other element types");
  }
  return check_movable(op, 0);
}

/// The outputs' own dimensions tell the sizes of the parts.
Status run_split(const Call& call) {
  const Dims whole = dims_of(call.input(0));
  std::size_t axis = 0;
  Status status = normalize_axis(call.op(), call.attributes().get_int("axis"), whole.size(), &axis);
  if (!status.is_ok()) return status;
  const AxisView from(whole, axis);
  std::int64_t start = 0;
  for (int k = 0; k < call.num_outputs(); ++k) {
    const Dims part = dims_of(call.output(k));
    const bool fits = is_part(part, whole, axis) && part[axis] <= whole[axis] - start;
    if (!fits) return refuse(call.op(), "outputs do not fit the input");
    const std::int64_t run = part[axis] * from.inner;
    const Mover mover(call.input(0), call.output(k));
    for (std::int64_t outer = 0; outer < from.outer; ++outer) {
      mover.copy((outer * from.size + start) * from.inner, outer * run, run);
    }
    start += part[axis];
  }
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> concat_split_kernels() {
  return {{.kind = "Concat", .run = run_concat, .check = check_concat},
          {.kind = "Split", .run = run_split, .check = check_split}};
}

}  // namespace sluice::reference
