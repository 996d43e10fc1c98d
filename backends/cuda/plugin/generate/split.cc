// Split: a thread copies a run of the input to the output that it looks for.

#include <algorithm>
#include <numeric>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/runs.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kMaxOutputs = 32;  // parameters, and comparisons of the last output's elements

constexpr const char* kKinds[] = {"Split", nullptr};

std::size_t axis_of(const sluice_op& op) {
  const std::int64_t axis = plugin::Attributes(op).get_int("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + op.inputs[0].tensor.rank : axis);
}

Status check(const sluice_op& op) {
  if (op.body != nullptr || op.num_outputs > kMaxOutputs) {
    return plugin::unimplemented("Split: its kernel has no body and at most 32 outputs");
  }
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const std::size_t axis = axis_of(op);
  if (axis >= x.size()) return shapes_disagree(op);
  std::int64_t extent = 0;
  for (const sluice_operand& output : plugin::outputs_of(op)) {
    const Dims y = plugin::dims_of(output.tensor);
    if (y.size() != x.size()) return shapes_disagree(op);
    std::vector<std::int64_t> expected(x.begin(), x.end());
    expected[axis] = y[axis];
    if (!agree(expected, y)) return shapes_disagree(op);
    const bool is_known = y[axis] >= 0 && extent >= 0;
    if (!is_known || __builtin_add_overflow(extent, y[axis], &extent)) extent = -1;
  }
  return agree(extent, x[axis]) ? plugin::ok() : shapes_disagree(op);
}

Status write(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const std::size_t axis = axis_of(op);
  const std::int64_t count = plugin::num_elements(x);
  const std::int64_t inner_size = plugin::num_elements(x.subspan(axis + 1));
  const std::string inner = std::to_string(inner_size);
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  std::string choice;
  std::int64_t start = 0;
  std::int64_t unbroken = 0;
  for (int output = 0; output < op.num_outputs; ++output) {
    const std::string name = output == 0 ? "y" : parameters.add_output(output);
    const std::int64_t extent = plugin::dims_of(op.outputs[output].tensor)[axis];
    unbroken = std::gcd(unbroken, extent * inner_size);
    const std::string first = std::to_string(start);
    start += extent;
    choice.append(choice.empty() ? "  if (at < " : "  else if (at < ");
    choice.append(std::to_string(start)).append(") to = ").append(name).append(" + (outer * ");
    choice.append(std::to_string(extent)).append(" + at - ").append(first).append(") * ");
    choice.append(inner).append(" + i % ").append(inner).append(";\n");
  }
  const std::string total = std::to_string(x[axis]);
  const int run = choose_run(op, unbroken);
  source->text =
      kernel_head(parameters, count, run_functions(op, run)) + find_run(kThreads, count) +
      "  const Index at = i / " + inner + " % " + total + ";\n  const Index outer = i / " + inner +
      " / " + total + ";\n  Result* to = nullptr;\n" + choice +
      "  *reinterpret_cast<Run<Result, kRun>*>(to) = load_run<kRun>(" + data + " + i);\n}\n";
  source->block = {kThreads, 1, 1};
  source->operands = parameters.operands();
  return set_grid(count / run, kThreads, source) ? plugin::ok() : too_large(op);
}

}  // namespace

const Family kSplitFamily = {kKinds, check, write};

}  // namespace sluice::cuda
