// Gather and GatherElements: one thread per element of the output, which reads its index.

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Gather", "GatherElements", nullptr};

std::size_t axis_of(const sluice_op& op) {
  const std::int64_t axis = plugin::Attributes(op).get_int("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + op.inputs[0].tensor.rank : axis);
}

bool is_gather(const sluice_op& op) { return std::string_view(op.kind) == "Gather"; }

/// The output's dimensions; -1 where they are unknown.
std::vector<std::int64_t> expected_dims(const sluice_op& op) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims indices = plugin::dims_of(op.inputs[1].tensor);
  if (!is_gather(op)) return {indices.begin(), indices.end()};
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

Status check(const sluice_op& op) {
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  if (Status status = check_constant_integers(op, 1); !status.is_ok()) return status;
  if (op.inputs[0].tensor.rank < 1 ||
      axis_of(op) >= static_cast<std::size_t>(op.inputs[0].tensor.rank)) {
    return shapes_disagree(op);
  }
  const std::int64_t extent = plugin::dims_of(op.inputs[0].tensor)[axis_of(op)];
  const std::vector<std::int64_t> indices = *constant_integers(op, 1);
  for (const std::int64_t index : indices) {
    if (extent >= 0 && (index < -extent || index >= extent)) {
      return {SLUICE_OUT_OF_RANGE, plugin::kind_of(op) + ": index " + std::to_string(index) +
                                       " is outside axis " + std::to_string(axis_of(op))};
    }
  }
  const bool fits = agree(expected_dims(op), plugin::dims_of(op.outputs[0].tensor)) &&
                    (is_gather(op) || is_within(op));
  return fits ? plugin::ok() : shapes_disagree(op);
}

Status write(const sluice_op& op, Source* source) {
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
  if (is_gather(op)) {
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
  statements +=
      "  long long at = " + places + "[" + at + "];\n  if (at < 0) at += " + extent + ";\n";
  return write_kernel(op, std::move(parameters),
                      {data + "[" + offset + "]", statements, 256, plugin::num_elements(x)},
                      source);
}

}  // namespace

const Family kGatherFamily = {kKinds, check, write};

}  // namespace sluice::cuda
