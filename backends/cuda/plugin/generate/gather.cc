// Gather, GatherElements and GatherND: a thread reads the indices of a run of the output that lies
// behind one index, and copies it. Constant indices are checked when the kernel is made, others by
// the threads.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"
#include "plugin/generate/text/runs.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Gather", "GatherElements", "GatherND", nullptr};

std::size_t axis_of(const sluice_op& op) {
  const std::int64_t axis = plugin::Attributes(op).get_int("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + op.inputs[0].tensor.rank : axis);
}

bool is_kind(const sluice_op& op, std::string_view kind) { return kind == op.kind; }

/// The output's dimensions; -1 where they are unknown.
std::vector<std::int64_t> expected_dims(const sluice_op& op) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  if (!is_kind(op, "Gather")) return {indices.begin(), indices.end()};
  const auto axis = static_cast<std::ptrdiff_t>(axis_of(op));
  std::vector<std::int64_t> dims(x.begin(), x.begin() + axis);
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), x.begin() + axis + 1, x.end());
  return dims;
}

/// Indices of GatherElements are within the input along all other axes.
bool is_within(const sluice_op& op) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  if (x.size() != indices.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i != axis_of(op) && x[i] >= 0 && indices[i] > x[i]) return false;
  }
  return true;
}

Status check_constants(const sluice_op& op) {
  const std::int64_t extent = plugin::dims_of(op.inputs[0].tensor)[axis_of(op)];
  const auto indices = constant_integers(op, 1);
  if (!indices || extent < 0) return plugin::ok();
  const auto wrong = std::ranges::find_if(
      *indices, [&](std::int64_t index) { return index < -extent || index >= extent; });
  if (wrong == indices->end()) return plugin::ok();
  return {SLUICE_OUT_OF_RANGE, plugin::kind_of(op) + ": index " + std::to_string(*wrong) +
                                   " is outside axis " + std::to_string(axis_of(op))};
}

/// Index tuples of a GatherND: each has `depth` numbers, for the axes behind the batch.
struct Tuples {
  std::size_t batch = 0, depth = 0;
};

/// False where the indices have no such form.
bool find_tuples(const sluice_op& op, Tuples* tuples) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  const std::int64_t batch = plugin::Attributes(op).get_int("batch_dims");
  if (batch < 0 || batch >= static_cast<std::int64_t>(std::min(x.size(), indices.size()))) {
    return false;
  }
  tuples->batch = static_cast<std::size_t>(batch);
  tuples->depth = static_cast<std::size_t>(std::max<std::int64_t>(indices.back(), 0));
  return tuples->depth >= 1 && tuples->depth <= x.size() - tuples->batch &&
         agree(x.first(tuples->batch), indices.first(tuples->batch));
}

Status check_tuples(const sluice_op& op) {
  if (op.inputs[1].tensor.rank > 0 && plugin::dims_of(op.inputs[1].tensor).back() < 0) {
    return plugin::unimplemented("GatherND: tuples of unknown length");
  }
  Tuples tuples;
  if (!find_tuples(op, &tuples)) return shapes_disagree(op);
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  const Dims slice = x.subspan(tuples.batch + tuples.depth);
  std::vector<std::int64_t> expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), slice.begin(), slice.end());
  return agree(expected, plugin::dims_of(op.outputs[0].tensor)) ? plugin::ok()
                                                                : shapes_disagree(op);
}

Status check(const sluice_op& op) {
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  if (Status status = check_integers(op, 1); !status.is_ok()) return status;
  if (is_kind(op, "GatherND")) return check_tuples(op);
  if (op.inputs[0].tensor.rank < 1 ||
      axis_of(op) >= static_cast<std::size_t>(op.inputs[0].tensor.rank)) {
    return shapes_disagree(op);
  }
  if (Status status = check_constants(op); !status.is_ok()) return status;
  const bool fits = agree(expected_dims(op), plugin::dims_of(op.outputs[0].tensor)) &&
                    (is_kind(op, "Gather") || is_within(op));
  return fits ? plugin::ok() : shapes_disagree(op);
}

Status write_tuples(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  Tuples tuples;
  if (!find_tuples(op, &tuples)) return shapes_disagree(op);
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  const std::string places = parameters.add(1);
  parameters.report_indices();
  const std::size_t first = tuples.batch;
  const std::string inner = std::to_string(plugin::num_elements(x.subspan(first + tuples.depth)));
  const std::string per_batch =
      std::to_string(plugin::num_elements(indices.subspan(first, indices.size() - first - 1)));
  std::string statements = "  const Index tuple = i / " + inner +
                           ";\n  long long offset = tuple / " + per_batch + " * " +
                           std::to_string(plugin::num_elements(x.subspan(first))) + " + i % " +
                           inner + ";\n  long long at;\n";
  for (std::size_t k = 0; k < tuples.depth; ++k) {
    const std::size_t axis = first + k;
    statements += "  at = " + places + "[tuple * " + std::to_string(tuples.depth) + " + " +
                  std::to_string(k) + "];\n" + check_index(x[axis], axis) + "  offset += at * " +
                  std::to_string(plugin::num_elements(x.subspan(axis + 1))) + ";\n";
  }
  const std::int64_t largest = std::max(plugin::num_elements(x), plugin::num_elements(indices));
  statements += "  const auto* from = " + data + " + offset;\n";
  const std::int64_t slice = plugin::num_elements(x.subspan(first + tuples.depth));
  return write_run_kernel(op, std::move(parameters),
                          {"own.at[j]", statements + kLoadOwn, choose_run(op, slice), largest},
                          source);
}

Status write(const sluice_op& op, Source* source) {
  if (is_kind(op, "GatherND")) return write_tuples(op, source);
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  const std::size_t axis = axis_of(op);
  const std::string extent = std::to_string(x[axis]);
  const std::string inner = std::to_string(plugin::num_elements(x.subspan(axis + 1)));
  Parameters parameters(op);
  std::string statements;
  const std::string data = parameters.add(0);
  const std::string places = read_integers(op, 1, &parameters, &statements);
  std::string at = "i";
  std::string offset;
  if (is_kind(op, "Gather")) {
    const std::string count = std::to_string(plugin::num_elements(indices));
    at = "i / " + inner + " % " + count;
    offset =
        "(i / " + inner + " / " + count + " * " + extent + " + at) * " + inner + " + i % " + inner;
  } else {
    std::vector<std::int64_t> strides;
    for (std::size_t k = 0; k < x.size(); ++k) {
      strides.push_back(k == axis ? 0 : plugin::num_elements(x.subspan(k + 1)));
    }
    offset = "at * " + inner + " + " + strided_index("i", indices, strides);
  }
  statements += "  long long at = " + places + "[" + at + "];\n";
  if (constant_integers(op, 1)) {
    statements += "  if (at < 0) at += " + extent + ";\n";
  } else {
    parameters.report_indices();
    statements += check_index(x[axis], axis);
  }
  statements += "  const auto* from = " + data + " + (" + offset + ");\n";
  const std::int64_t unbroken =
      is_kind(op, "Gather") ? plugin::num_elements(x.subspan(axis + 1)) : 1;
  return write_run_kernel(
      op, std::move(parameters),
      {"own.at[j]", statements + kLoadOwn, choose_run(op, unbroken), plugin::num_elements(x)},
      source);
}

}  // namespace

const Family kGatherFamily = {kKinds, check, write};

}  // namespace sluice::cuda
