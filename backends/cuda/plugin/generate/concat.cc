// Concat: a thread looks for the input of a run of the output and copies it.

#include <numeric>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/runs.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

constexpr int kMaxInputs = 32;  // parameters, and comparisons of the last input's elements

constexpr const char* kKinds[] = {"Concat", nullptr};

std::int64_t axis_of(const sluice_op& op) {
  const std::int64_t axis = plugin::Attributes(op).get_int("axis");
  return axis < 0 ? axis + op.outputs[0].tensor.rank : axis;
}

Status check(const sluice_op& op) {
  if (Status status = check_moved(op, op.num_inputs); !status.is_ok()) return status;
  if (op.num_inputs > kMaxInputs) {
    return plugin::unimplemented("Concat: " + std::to_string(op.num_inputs) + " inputs");
  }
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  const std::int64_t axis = axis_of(op);
  if (axis < 0 || axis >= static_cast<std::int64_t>(y.size())) return shapes_disagree(op);
  std::vector<std::int64_t> expected(y.begin(), y.end());
  std::int64_t extent = 0;
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    const Dims x = plugin::dims_of(input.tensor);
    if (x.size() != y.size()) return shapes_disagree(op);
    const std::int64_t own = x[static_cast<std::size_t>(axis)];
    expected[static_cast<std::size_t>(axis)] = own;
    if (!agree(x, expected)) return shapes_disagree(op);
    const bool is_known = own >= 0 && extent >= 0;
    if (!is_known || __builtin_add_overflow(extent, own, &extent)) extent = -1;
  }
  return agree(extent, y[static_cast<std::size_t>(axis)]) ? plugin::ok() : shapes_disagree(op);
}

Status write(const sluice_op& op, Source* source) {
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  const auto axis = static_cast<std::size_t>(axis_of(op));
  const std::int64_t inner_size = plugin::num_elements(y.subspan(axis + 1));
  const std::string inner = std::to_string(inner_size);
  Parameters parameters(op);
  std::string choice;
  std::int64_t start = 0;
  std::int64_t unbroken = 0;
  for (int input = 0; input < op.num_inputs; ++input) {
    const std::int64_t extent = plugin::dims_of(op.inputs[input].tensor)[axis];
    if (extent == 0) continue;
    unbroken = std::gcd(unbroken, extent * inner_size);
    const std::string first = std::to_string(start);
    start += extent;
    choice.append(choice.empty() ? "  if (at < " : "  else if (at < ")
        .append(std::to_string(start));
    choice.append(") from = ").append(parameters.add(input)).append(" + (outer * ");
    choice.append(std::to_string(extent)).append(" + at - ").append(first).append(") * ");
    choice.append(inner).append(" + i % ").append(inner).append(";\n");
  }
  const std::string total = std::to_string(y[axis]);
  const std::string type(type_name(op.inputs[0].tensor.element_type));
  const std::string place = "  const Index at = i / " + inner + " % " + total +
                            ";\n  const Index outer = i / " + inner + " / " + total +
                            ";\n  const " + type + "* from = nullptr;\n";
  return write_run_kernel(op, std::move(parameters),
                          {"own.at[j]", place + choice + kLoadOwn, choose_run(op, unbroken)},
                          source);
}

}  // namespace

const Family kConcatFamily = {kKinds, check, write};

}  // namespace sluice::cuda
