// Pad: a thread computes a run of the output that is inside of the input or outside.

#include <numeric>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"
#include "plugin/generate/text/runs.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Pad", nullptr};

bool has_input(const sluice_op& op, int input) {
  return op.num_inputs > input && !plugin::is_absent(op.inputs[input].tensor);
}

std::string_view mode_of(const sluice_op& op) {
  return plugin::Attributes(op).get_text("mode", "constant");
}

/// The elements in front of each axis. Fails where the widths do not give the output.
Status read_widths(const sluice_op& op, std::vector<std::int64_t>* before) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const auto rank = static_cast<std::int64_t>(x.size());
  const std::vector<std::int64_t> widths = *constant_integers(op, 1);
  std::vector<std::int64_t> axes(x.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (has_input(op, 3)) axes = *constant_integers(op, 3);
  if (widths.size() != 2 * axes.size()) return shapes_disagree(op);
  before->assign(x.size(), 0);
  std::vector<std::int64_t> expected(x.begin(), x.end());
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::int64_t axis = axes[k] < 0 ? axes[k] + rank : axes[k];
    if (axis < 0 || axis >= rank) return shapes_disagree(op);
    const auto at = static_cast<std::size_t>(axis);
    (*before)[at] = widths[k];
    if (x[at] < 0) continue;
    const bool is_sum =
        !__builtin_add_overflow(expected[at], widths[k], &expected[at]) &&
        !__builtin_add_overflow(expected[at], widths[k + axes.size()], &expected[at]);
    const bool is_from_nothing = x[at] == 0 && mode_of(op) != "constant";
    if (!is_sum || expected[at] < 0 || is_from_nothing) return shapes_disagree(op);
  }
  return agree(expected, plugin::dims_of(op.outputs[0].tensor)) ? plugin::ok()
                                                                : shapes_disagree(op);
}

Status check(const sluice_op& op) {
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  const std::string_view mode = mode_of(op);
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    return plugin::unimplemented("Pad: no kernel for mode " + std::string(mode));
  }
  if (!has_input(op, 1)) return plugin::unimplemented("Pad: widths must be an input");
  for (const int input : {1, 3}) {
    if (input == 3 && !has_input(op, input)) continue;
    if (Status status = check_constant_integers(op, input); !status.is_ok()) return status;
  }
  std::vector<std::int64_t> before;
  if (Status status = read_widths(op, &before); !status.is_ok()) return status;
  const bool value_fits =
      !has_input(op, 2) || (op.inputs[2].tensor.element_type == op.inputs[0].tensor.element_type &&
                            agree(plugin::num_elements(op.inputs[2].tensor), 1));
  return value_fits ? plugin::ok() : shapes_disagree(op);
}

/// Statements that turn `p`, which may lie outside of 0 to n - 1, into a place inside.
std::string fold_place(std::string_view mode) {
  if (mode == "edge") return "p = p < 0 ? 0 : p >= n ? n - 1 : p;";
  if (mode == "wrap") return "p = (p % n + n) % n;";
  if (mode == "reflect") {
    return "if (n == 1) p = 0; else { const auto period = 2 * (n - 1); p = (p % period + "
           "period) % period; if (p >= n) p = period - p; }";
  }
  return "if (p < 0 || p >= n) inside = false;";
}

/// Neighbours of the output of which all or none are neighbours in the input.
std::int64_t unbroken_of(const sluice_op& op, std::span<const std::int64_t> before) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  std::int64_t inner = 1;
  for (std::size_t axis = x.size(); axis-- > 0;) {
    if (before[axis] != 0 || y[axis] != x[axis]) {
      if (mode_of(op) != "constant") return inner;
      return std::gcd(std::gcd(inner * y[axis], inner * x[axis]), inner * before[axis]);
    }
    inner *= x[axis];
  }
  return inner;
}

Status write(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  std::vector<std::int64_t> before;
  if (Status status = read_widths(op, &before); !status.is_ok()) return status;
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  const std::string value = has_input(op, 2) ? parameters.add(2) + "[0]" : "";
  const std::int64_t most = std::max(plugin::num_elements(x), plugin::num_elements(y));
  const std::string wide = most < kMaxShortIndex / 4 ? "int" : "Wide";
  std::string text = "  typedef long long Wide;\n  bool inside = true;\n  Index at = 0;\n";
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    std::vector<std::int64_t> strides(y.size(), 0);
    strides[axis] = 1;
    text.append("  {\n    const ").append(wide).append(" n = ").append(std::to_string(x[axis]));
    text.append(";\n    ").append(wide).append(" p = ").append(wide).append("(");
    text.append(strided_index("i", y, strides)).append(") - (");
    text.append(std::to_string(before[axis])).append(");\n    ").append(fold_place(mode_of(op)));
    text.append("\n    at = at * n + Index(p);\n  }\n");
  }
  const std::string type(type_name(op.inputs[0].tensor.element_type));
  text += "  Run<" + type + ", kRun> own = {};\n  if (inside) own = load_run<kRun>(" + data +
          " + at);\n";
  if (!value.empty()) {
    text +=
        "  if (!inside) {\n    for (int j = 0; j < kRun; ++j) own.at[j] = " + value + ";\n  }\n";
  }
  return write_run_kernel(
      op, std::move(parameters),
      {"own.at[j]", text, choose_run(op, unbroken_of(op, before)), plugin::num_elements(x)},
      source);
}

}  // namespace

const Family kPadFamily = {kKinds, check, write};

}  // namespace sluice::cuda
