// Slice: one thread per element of the output.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Slice", nullptr};

bool has_input(const sluice_op& op, int input) {
  return op.num_inputs > input && !plugin::is_absent(op.inputs[input].tensor);
}

/// What happens along one axis: places start, start + step, ...
struct Cut {
  std::int64_t start = 0, step = 1;
};

/// The numbers of an optional input; `fallback` for each of `count` where it is absent.
std::vector<std::int64_t> numbers_of(const sluice_op& op, int input, std::size_t count,
                                     std::int64_t fallback) {
  if (has_input(op, input)) return *constant_integers(op, input);
  return std::vector<std::int64_t>(count, fallback);
}

/// By axis. Fails where the numbers do not give the output.
Status read_cuts(const sluice_op& op, std::vector<Cut>* cuts) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const auto rank = static_cast<std::int64_t>(x.size());
  const std::vector<std::int64_t> starts = *constant_integers(op, 1);
  const std::vector<std::int64_t> ends = *constant_integers(op, 2);
  const auto axes = numbers_of(op, 3, starts.size(), 0);
  const auto steps = numbers_of(op, 4, starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size() || starts.size() > x.size()) {
    return shapes_disagree(op);
  }
  cuts->assign(x.size(), {});
  std::vector<std::int64_t> expected(x.begin(), x.end());
  std::vector<bool> is_cut(x.size(), false);
  for (std::size_t k = 0; k < starts.size(); ++k) {
    std::int64_t axis = has_input(op, 3) ? axes[k] : static_cast<std::int64_t>(k);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || steps[k] == 0 || steps[k] == INT64_MIN) {
      return shapes_disagree(op);
    }
    const auto at = static_cast<std::size_t>(axis);
    if (is_cut[at]) return shapes_disagree(op);
    is_cut[at] = true;
    const std::int64_t extent = x[at];
    if (extent < 0) continue;
    const bool is_back = steps[k] < 0;
    const auto clamp = [&](std::int64_t place) {
      if (place < 0) place += extent;
      return is_back ? std::clamp<std::int64_t>(place, -1, extent - 1)
                     : std::clamp<std::int64_t>(place, 0, extent);
    };
    const std::int64_t start = clamp(starts[k]);
    const std::int64_t room = is_back ? start - clamp(ends[k]) : clamp(ends[k]) - start;
    const std::int64_t stride = is_back ? -steps[k] : steps[k];
    (*cuts)[at] = {start, steps[k]};
    expected[at] = room <= 0 ? 0 : (room - 1) / stride + 1;
  }
  return agree(expected, plugin::dims_of(op.outputs[0].tensor)) ? plugin::ok()
                                                                : shapes_disagree(op);
}

Status check(const sluice_op& op) {
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  for (const int input : {1, 2, 3, 4}) {
    if (input > 2 && !has_input(op, input)) continue;
    if (Status status = check_constant_integers(op, input); !status.is_ok()) return status;
  }
  std::vector<Cut> cuts;
  return read_cuts(op, &cuts);
}

Status write(const sluice_op& op, Source* source) {
  std::vector<Cut> cuts;
  if (Status status = read_cuts(op, &cuts); !status.is_ok()) return status;
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  std::int64_t first = 0;
  std::string offset;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::int64_t stride = plugin::num_elements(x.subspan(axis + 1));
    first += cuts[axis].start * stride;
    std::vector<std::int64_t> strides(y.size(), 0);
    strides[axis] = 1;
    offset += " + (long long)(" + strided_index("i", y, strides) + ") * " +
              std::to_string(y[axis] == 1 ? 0 : cuts[axis].step * stride);
  }
  Parameters parameters(op);
  const std::string value = parameters.add(0) + "[" + std::to_string(first) + offset + "]";
  return write_kernel(op, std::move(parameters), {value, "", 256, plugin::num_elements(x)}, source);
}

}  // namespace

const Family kSliceFamily = {kKinds, check, write};

}  // namespace sluice::cuda
