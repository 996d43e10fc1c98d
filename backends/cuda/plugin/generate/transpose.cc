// Transpose: a thread copies a run where the innermost axis stays; else tiles go through shared
// memory, which is read along the input's innermost axis and written along the output's.

#include <algorithm>
#include <numeric>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/runs.h"
#include "plugin/generate/text/types.h"

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

/// Lines of 32 threads in a block that moves a tile.
constexpr int kLines = 8;

/// A plane of two axes, and where the others lead: `a` is innermost in the input, `b` in the
/// output.
struct Planes {
  std::int64_t a = 1, b = 1;
  std::int64_t a_stride = 1;                  ///< in the output
  std::int64_t b_stride = 1;                  ///< in the input
  std::vector<std::int64_t> batch, from, to;  ///< extents; strides in the input and the output
  std::int64_t tile = 32;
};

/// `axes`: of the output, merged, with strides of the input; the last is not the input's innermost.
Planes find_planes(std::span<const Axis> axes) {
  Planes planes;
  std::int64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (i + 1 == axes.size()) {
      planes.b = axes[i].extent;
      planes.b_stride = axes[i].stride;
    } else if (axes[i].stride == 1) {
      planes.a = axes[i].extent;
      planes.a_stride = stride;
    } else {
      planes.batch.insert(planes.batch.begin(), axes[i].extent);
      planes.from.insert(planes.from.begin(), axes[i].stride);
      planes.to.insert(planes.to.begin(), stride);
    }
    stride *= axes[i].extent;
  }
  return planes;
}

std::int64_t num_tiles(std::int64_t extent, std::int64_t tile) {
  return (extent + tile - 1) / tile;
}

std::int64_t count_blocks(const Planes& planes) {
  return num_tiles(planes.a, planes.tile) * num_tiles(planes.b, planes.tile) *
         plugin::num_elements(planes.batch);
}

Status write_tiles(const sluice_op& op, const Planes& planes, Source* source) {
  // Rows are padded by a word, so that the lanes of a warp that read a column meet all banks.
  const std::int64_t bytes = plugin::element_bits(op.inputs[0].tensor.element_type) / 8;
  const std::int64_t pitch = planes.tile + std::max<std::int64_t>(4 / bytes, 1);
  const std::string type(type_name(op.inputs[0].tensor.element_type));
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const std::string across = number(num_tiles(planes.a, planes.tile));
  const std::string down = number(num_tiles(planes.b, planes.tile));
  const std::string tile = number(planes.tile);
  // Rows and columns of a tile that a thread has.
  const auto walk = [&](const std::string& statements) {
    return "#pragma unroll\n  for (int row = threadIdx.y; row < " + tile +
           "; row += " + number(kLines) +
           ") {\n#pragma unroll\n  for (int column = threadIdx.x; column < " + tile +
           "; column += 32) {\n" + statements + "  }\n  }\n";
  };
  Parameters parameters(op);
  const std::string x = parameters.add(0);
  add_body_inputs(op, &parameters);
  const std::string load = "  const Index a = first_a + column, b = first_b + row;\n  if (a < " +
                           number(planes.a) + " && b < " + number(planes.b) +
                           ") tile[row][column] = " + x + "[from + b * " + number(planes.b_stride) +
                           " + a];\n";
  const std::string store = "  const Index a = first_a + row, b = first_b + column;\n  if (a < " +
                            number(planes.a) + " && b < " + number(planes.b) +
                            ") {\n  const Index i = to + a * " + number(planes.a_stride) +
                            " + b;\n" + store_result(op, "tile[column][row]", "i") + "  }\n";
  source->text = constants_text(op) +
                 kernel_head(parameters, plugin::num_elements(op.outputs[0].tensor)) +
                 "  __shared__ " + type + " tile[" + tile + "][" + number(pitch) +
                 "];\n  const Index number = blockIdx.x;\n  const Index first_b = number % " +
                 down + " * " + tile + ", first_a = number / " + down + " % " + across + " * " +
                 tile + ", plane = number / (" + down + " * " + across +
                 ");\n  const Index from = " + strided_index("plane", planes.batch, planes.from) +
                 ", to = " + strided_index("plane", planes.batch, planes.to) + ";\n" + walk(load) +
                 "  __syncthreads();\n" + walk(store) + "}\n";
  source->block = {32, kLines, 1};
  source->operands = parameters.operands();
  return set_grid(count_blocks(planes), 1, source) ? plugin::ok() : too_large(op);
}

Status write(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  std::vector<std::int64_t> strides;
  std::vector<Axis> axes;
  for (const std::int64_t axis : permutation_of(op)) {
    strides.push_back(plugin::num_elements(x.subspan(static_cast<std::size_t>(axis) + 1)));
    axes.push_back({x[static_cast<std::size_t>(axis)], strides.back()});
  }
  axes = merge(axes);
  const std::int64_t unbroken = axes.empty() || axes.back().stride != 1 ? 1 : axes.back().extent;
  constexpr std::int64_t kLeast = 8;  // of both axes of a tile, where most threads have an element
  if (unbroken == 1 && !axes.empty()) {
    Planes planes = find_planes(axes);
    const bool is_narrow = plugin::element_bits(op.inputs[0].tensor.element_type) <= 16;
    planes.tile = is_narrow && std::min(planes.a, planes.b) > 32 ? 64 : 32;
    // Few blocks leave multiprocessors without work.
    if (count_blocks(planes) < 256) planes.tile = 32;
    if (std::min(planes.a, planes.b) >= kLeast) return write_tiles(op, planes, source);
  }
  Parameters parameters(op);
  const std::string from =
      "  const auto* from = " + parameters.add(0) + " + " + strided_index("i", y, strides) + ";\n";
  return write_run_kernel(op, std::move(parameters),
                          {"own.at[j]", from + kLoadOwn, choose_run(op, unbroken)}, source);
}

}  // namespace

const Family kTransposeFamily = {kKinds, check, write};

}  // namespace sluice::cuda
