// Scatter, ScatterElements, ScatterND and TensorScatter: a copy of a tensor with elements replaced,
// or combined, at places that a run knows.
//
// Every element of the output has one thread that copies and changes it. So updates of one element
// happen in the order of the indices, whatever they do, and a run gives the same bits as another.
// The output may lie in the memory of input 0: its elements are then not copied, which makes a step
// of a cache as cheap as the rows that it writes.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Scatter", "ScatterElements", "ScatterND", "TensorScatter",
                                  nullptr};

/// Threads that a launch has, about: those of ScatterElements and ScatterND read all indices of
/// their part of the tensor, so more of them read more.
constexpr std::int64_t kThreads = 8192;

bool is_kind(const sluice_op& op, std::string_view kind) { return kind == op.kind; }
bool is_tuples(const sluice_op& op) { return is_kind(op, "ScatterND"); }

std::size_t axis_of(const sluice_op& op, std::int64_t fallback) {
  const std::int64_t axis = plugin::Attributes(op).get_int("axis", fallback);
  return static_cast<std::size_t>(axis < 0 ? axis + op.inputs[0].tensor.rank : axis);
}

/// How `old`, which is in the output, becomes `now` by an update; null for an unknown reduction.
const char* combination(const sluice_op& op) {
  const std::string_view reduction = plugin::Attributes(op).get_text("reduction", "none");
  const sluice_element_type type = op.outputs[0].tensor.element_type;
  if (reduction == "none") return "now";
  if (type == plugin::kBool) {
    if (reduction == "add" || reduction == "max") return "old || now";
    if (reduction == "mul" || reduction == "min") return "old && now";
    return nullptr;
  }
  if (reduction == "add") return "old + now";
  if (reduction == "mul") return "old * now";
  // A NaN on either side is the result.
  if (reduction == "max") return "old < now || now != now ? now : old";
  if (reduction == "min") return "now < old || now != now ? now : old";
  return nullptr;
}

/// The statement that changes `y[at]` by `update`. Numbers of 16 bits are combined as floats.
std::string change(const sluice_op& op, const std::string& at, const std::string& update) {
  if (std::string_view(combination(op)) == "now") return "y[" + at + "] = " + update + ";\n";
  const sluice_element_type type = op.outputs[0].tensor.element_type;
  const std::string_view reduction = plugin::Attributes(op).get_text("reduction", "none");
  std::string computed(is_real(type) ? "float" : type_name(type));
  // Sums and products wrap; of signed numbers that is not defined.
  const bool wraps = reduction == "add" || reduction == "mul";
  if (wraps && type == plugin::kI32) computed = "unsigned";
  if (wraps && type == plugin::kI64) computed = "unsigned long long";
  return "{ const " + computed + " old = y[" + at + "], now = " + update + "; y[" + at +
         "] = " + combination(op) + "; }\n";
}

Status check_updates(const sluice_op& op, int updates) {
  if (op.body != nullptr) return plugin::unimplemented(plugin::kind_of(op) + ": a fused body");
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  if (op.num_inputs <= updates) return shapes_disagree(op);
  const sluice_tensor& tensor = op.inputs[updates].tensor;
  if (tensor.element_type != op.outputs[0].tensor.element_type ||
      tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return plugin::unimplemented(plugin::kind_of(op) + ": updates of another type or layout");
  }
  const bool fits =
      agree(plugin::dims_of(op.inputs[0].tensor), plugin::dims_of(op.outputs[0].tensor));
  return fits ? plugin::ok() : shapes_disagree(op);
}

/// Indices and updates reach no further than the data along all axes but `axis`.
bool fits_elements(const sluice_op& op) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  const std::size_t axis = axis_of(op, 0);
  if (x.size() != indices.size() || axis >= x.size() ||
      !agree(indices, plugin::dims_of(op.inputs[2].tensor))) {
    return false;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i != axis && x[i] >= 0 && indices[i] > x[i]) return false;
  }
  return true;
}

Status check_tuples(const sluice_op& op) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  if (indices.empty() || x.empty()) return shapes_disagree(op);
  const std::int64_t depth = indices.back();
  if (depth < 0) return plugin::unimplemented("ScatterND: tuples of unknown length");
  if (depth > static_cast<std::int64_t>(x.size())) return shapes_disagree(op);
  std::vector<std::int64_t> expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), x.begin() + depth, x.end());
  return agree(expected, plugin::dims_of(op.inputs[2].tensor)) ? plugin::ok() : shapes_disagree(op);
}

Status check_cache(const sluice_op& op) {
  if (Status status = check_updates(op, 1); !status.is_ok()) return status;
  const std::string_view mode = plugin::Attributes(op).get_text("mode", "linear");
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims update = plugin::dims_of(op.inputs[1].tensor);
  const std::size_t axis = axis_of(op, -2);
  if ((mode != "linear" && mode != "circular") || x.size() != update.size() || axis < 1 ||
      axis >= x.size()) {
    return shapes_disagree(op);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is_part = i == axis && (x[i] < 0 || update[i] <= x[i]);
    if (!is_part && !agree(x[i], update[i])) return shapes_disagree(op);
  }
  if (op.num_inputs < 3 || plugin::is_absent(op.inputs[2].tensor)) return plugin::ok();
  if (Status status = check_integers(op, 2); !status.is_ok()) return status;
  return agree(plugin::num_elements(op.inputs[2].tensor), x[0]) ? plugin::ok()
                                                                : shapes_disagree(op);
}

Status check(const sluice_op& op) {
  if (is_kind(op, "TensorScatter")) return check_cache(op);
  if (Status status = check_updates(op, 2); !status.is_ok()) return status;
  if (Status status = check_integers(op, 1); !status.is_ok()) return status;
  if (combination(op) == nullptr) {
    return plugin::unimplemented(plugin::kind_of(op) + ": an unknown reduction");
  }
  if (is_tuples(op)) return check_tuples(op);
  return fits_elements(op) ? plugin::ok() : shapes_disagree(op);
}

/// A kernel whose thread `i` of `count` runs `statements`.
Status write_threads(const sluice_op& op, const Parameters& parameters, std::int64_t count,
                     const std::string& statements, Source* source) {
  constexpr unsigned kBlock = 128;
  std::int64_t largest = count;
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    largest = std::max(largest, plugin::num_elements(input.tensor));
  }
  source->text =
      kernel_head(parameters, largest) + find_element(kBlock, count) + statements + "}\n";
  source->block = {kBlock, 1, 1};
  source->operands = parameters.operands();
  source->reports_indices = parameters.reports_indices();
  return set_grid(count, kBlock, source) ? plugin::ok() : too_large(op);
}

/// How many threads share what has `lanes` places of one kind, each with `extent` of the other.
std::int64_t parts_of(std::int64_t lanes, std::int64_t extent) {
  return std::clamp<std::int64_t>(kThreads / std::max<std::int64_t>(lanes, 1), 1,
                                  std::max<std::int64_t>(extent, 1));
}

/// A thread has a line of elements along the axis, of which it changes each `parts`th.
Status write_elements(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  const std::size_t axis = axis_of(op, 0);
  std::vector<std::int64_t> lines(x.begin(), x.end());
  lines[axis] = 1;
  std::vector<std::int64_t> from(x.size()), to(x.size());
  std::string within;
  for (std::size_t k = 0; k < x.size(); ++k) {
    from[k] = plugin::num_elements(indices.subspan(k + 1));
    to[k] = plugin::num_elements(x.subspan(k + 1));
    if (k == axis || indices[k] == x[k]) continue;
    std::vector<std::int64_t> along(x.size(), 0);
    along[k] = 1;
    within += (within.empty() ? "" : " || ") + std::string("(") +
              strided_index("line", lines, along) + ") >= " + std::to_string(indices[k]);
  }
  const std::int64_t num_lines = plugin::num_elements(lines);
  const std::int64_t parts = parts_of(num_lines, x[axis]);
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  const std::string places = parameters.add(1);
  const std::string updates = parameters.add(2);
  parameters.report_indices();
  const std::string step = std::to_string(to[axis]);
  const std::string text =
      "  const Index line = i % " + std::to_string(num_lines) + ", part = i / " +
      std::to_string(num_lines) + ";\n  const Index start = " + strided_index("line", lines, to) +
      ";\n  for (Index at = part; " + data + " != y && at < " + std::to_string(x[axis]) +
      "; at += " + std::to_string(parts) + ") y[start + at * " + step + "] = " + data +
      "[start + at * " + step + "];\n" + (within.empty() ? "" : "  if (" + within + ") return;\n") +
      "  const Index first = " + strided_index("line", lines, from) +
      ";\n  for (Index k = 0; k < " + std::to_string(indices[axis]) +
      "; ++k) {\n  const Index update = first + k * " + std::to_string(from[axis]) +
      ";\n  long long at = " + places + "[update];\n" + check_index(x[axis], axis) + "  if (at % " +
      std::to_string(parts) + " == part) " +
      change(op, "start + at * " + step, updates + "[update]") + "  }\n";
  return write_threads(op, parameters, num_lines * parts, text, source);
}

/// A thread has one place of all slices, of which it changes each `parts`th.
Status write_tuples(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  const auto depth = static_cast<std::size_t>(indices.back());
  const std::int64_t inner = plugin::num_elements(x.subspan(depth));
  const std::int64_t num_slices = plugin::num_elements(x.first(depth));
  const std::int64_t num_tuples = plugin::num_elements(indices.first(indices.size() - 1));
  const std::int64_t parts = parts_of(inner, num_slices);
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  const std::string places = parameters.add(1);
  const std::string updates = parameters.add(2);
  parameters.report_indices();
  const std::string size = std::to_string(inner);
  std::string text = "  const Index inner = i % " + size + ", part = i / " + size +
                     ";\n  for (Index at = part; " + data + " != y && at < " +
                     std::to_string(num_slices) + "; at += " + std::to_string(parts) + ") y[at * " +
                     size + " + inner] = " + data + "[at * " + size +
                     " + inner];\n  for (Index k = 0; k < " + std::to_string(num_tuples) +
                     "; ++k) {\n  long long slice = 0, at;\n";
  for (std::size_t axis = 0; axis < depth; ++axis) {
    text += "  at = " + places + "[k * " + std::to_string(depth) + " + " + std::to_string(axis) +
            "];\n" + check_index(x[axis], axis) + "  slice = slice * " + std::to_string(x[axis]) +
            " + at;\n";
  }
  text += "  if (slice % " + std::to_string(parts) + " == part) " +
          change(op, "slice * " + size + " + inner", updates + "[k * " + size + " + inner]") +
          "  }\n";
  return write_threads(op, parameters, inner * parts, text, source);
}

/// A thread has an element of the cache.
Status write_cache(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const std::size_t axis = axis_of(op, -2);
  const std::int64_t length = plugin::dims_of(op.inputs[1].tensor)[axis];
  const bool is_circular = plugin::Attributes(op).get_text("mode", "linear") == "circular";
  const bool has_starts = op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  const std::string update = parameters.add(1);
  const std::string inner = std::to_string(plugin::num_elements(x.subspan(axis + 1)));
  const std::string size = std::to_string(x[axis]);
  const std::string count = std::to_string(length);
  std::string text =
      "  const Index place = i / " + inner + " % " + size + ";\n  long long at = 0;\n";
  if (has_starts) {
    const std::string starts = parameters.add(2);
    parameters.report_indices();
    text +=
        "  at = " + starts + "[i / " + std::to_string(plugin::num_elements(x.subspan(1))) + "];\n";
    if (is_circular) text += "  if (at >= 0) at %= " + size + ";\n";
    text += check_place(is_circular ? x[axis] : x[axis] - length + 1, x[axis], axis);
  }
  text += "  const long long k = " +
          (is_circular ? "(place + " + size + " - at) % " + size : std::string("place - at")) +
          ";\n  if (k >= 0 && k < " + count + ") y[i] = " + update + "[(i / " + inner + " / " +
          size + " * " + count + " + k) * " + inner + " + i % " + inner + "];\n  else if (" + data +
          " != y) y[i] = " + data + "[i];\n";
  return write_threads(op, parameters, plugin::num_elements(x), text, source);
}

Status write(const sluice_op& op, Source* source) {
  if (is_kind(op, "TensorScatter")) return write_cache(op, source);
  return is_tuples(op) ? write_tuples(op, source) : write_elements(op, source);
}

}  // namespace

const Family kScatterFamily = {kKinds, check, write};

}  // namespace sluice::cuda
