// Transpose: one thread per element of the output.

#include <algorithm>
#include <numeric>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Transpose", nullptr};

/// The input's axis of each axis of the output; reversed where nothing is given.
std::vector<std::int64_t> permutation_of(const sluice_op& op) {
  const auto given = plugin::Attributes(op).get_ints("perm");
  std::vector<std::int64_t> axes(given.begin(), given.end());
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(op.inputs[0].tensor.rank));
    std::iota(axes.rbegin(), axes.rend(), 0);
  }
  return axes;
}

Status check(const sluice_op& op) {
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  std::vector<std::int64_t> axes = permutation_of(op);
  std::vector<std::int64_t> dims;
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(x.size())) return shapes_disagree(op);
    dims.push_back(x[static_cast<std::size_t>(axis)]);
  }
  std::ranges::sort(axes);
  const bool is_permutation =
      axes.size() == x.size() && std::ranges::adjacent_find(axes) == axes.end();
  const bool fits = is_permutation && agree(dims, plugin::dims_of(op.outputs[0].tensor));
  return fits ? plugin::ok() : shapes_disagree(op);
}

Status write(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : permutation_of(op)) {
    strides.push_back(plugin::num_elements(x.subspan(static_cast<std::size_t>(axis) + 1)));
  }
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  Parameters parameters(op);
  const std::string value = parameters.add(0) + "[" + strided_index("i", y, strides) + "]";
  return write_kernel(op, std::move(parameters), {value}, source);
}

}  // namespace

const Family kTransposeFamily = {kKinds, check, write};

}  // namespace sluice::cuda
