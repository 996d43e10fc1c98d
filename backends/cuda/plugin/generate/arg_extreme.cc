// ArgMax and ArgMin: a thread per element of the output walks along the axis.

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"ArgMax", "ArgMin", nullptr};

std::size_t axis_of(const sluice_op& op) {
  const std::int64_t axis = plugin::Attributes(op).get_int("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + op.inputs[0].tensor.rank : axis);
}

Status check(const sluice_op& op) {
  const sluice_tensor& input = op.inputs[0].tensor;
  const sluice_tensor& output = op.outputs[0].tensor;
  if (op.body != nullptr || type_name(input.element_type).empty() ||
      output.element_type != plugin::kI64 || input.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return plugin::unimplemented(plugin::kind_of(op) + ": no kernel for these element types");
  }
  const Dims x = plugin::dims_of(input);
  if (axis_of(op) >= x.size() || x[axis_of(op)] == 0) return shapes_disagree(op);
  const bool keeps = plugin::Attributes(op).get_int("keepdims", 1) != 0;
  std::vector<std::int64_t> left;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i != axis_of(op)) left.push_back(x[i]);
    if (i == axis_of(op) && keeps) left.push_back(1);
  }
  return agree(left, plugin::dims_of(output)) ? plugin::ok() : shapes_disagree(op);
}

Status write(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i != axis_of(op)) kept.push_back(i);
  }
  const std::string inner = std::to_string(plugin::num_elements(x.subspan(axis_of(op) + 1)));
  const bool is_max = std::string_view(op.kind) == "ArgMax";
  const bool takes_last = plugin::Attributes(op).get_int("select_last_index") != 0;
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  // A NaN is the extreme, the first or the last, as it is the result of ReduceMax.
  const std::string order = std::string(is_max ? ">" : "<") + (takes_last ? "=" : "");
  const std::string statements =
      "  const auto* line = " + data + " + " + offset_along("i", x, kept) +
      ";\n  Index best = 0;\n  for (Index j = 1; j < " + std::to_string(x[axis_of(op)]) +
      "; ++j) {\n    const auto v = line[j * " + inner + "], b = line[best * " + inner +
      "];\n    if (v " + order + " b || (v != v" + (takes_last ? "" : " && b == b") +
      ")) best = j;\n  }\n";
  return write_kernel(op, std::move(parameters),
                      {"(long long)best", statements, 256, plugin::num_elements(x)}, source);
}

}  // namespace

const Family kArgExtremeFamily = {kKinds, check, write};

}  // namespace sluice::cuda
