// ArgMax and ArgMin: a thread per element of the output walks along the axis, or where the elements
// of the axis are neighbours, threads share them.

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/rows.h"
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

/// Whether a value `v` takes the place of `b`, whose place is before its own, or after it. A NaN is
/// the extreme, the first or the last, as it is the result of ReduceMax.
std::string is_better(const sluice_op& op, bool is_before) {
  const bool is_max = std::string_view(op.kind) == "ArgMax";
  const bool takes_equal = (plugin::Attributes(op).get_int("select_last_index") != 0) != is_before;
  if (takes_equal) {
    return is_max ? "(v != v || (b == b && !(v < b)))" : "(v != v || (b == b && !(v > b)))";
  }
  return is_max ? "(b == b && (v != v || v > b))" : "(b == b && (v != v || v < b))";
}

/// A row is an element of the output. Threads tell each other places, and read the values there.
Status write_rows(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const std::int64_t size = x[axis_of(op)];
  RowPlan plan = plan_rows(plugin::num_elements(op.outputs[0].tensor), size, 1);
  plan.is_kept = false;
  Parameters parameters(op);
  parameters.add(0);
  const auto take = [](const std::string& condition, const char* place) {
    return "  if (" + condition + ") {\n  best = " + place + ";\n  b = v;\n  }\n";
  };
  const std::string choose =
      "  const auto v = line[other];\n" +
      take("other < best ? " + is_better(op, true) + " : " + is_better(op, false), "other");
  std::string text =
      "  const auto* line = x0 + row * kSize;\n"
      "  Index best = threadIdx.x < kSize ? threadIdx.x : 0;\n"
      "  auto b = line[best];\n" +
      each_run(plan, "  const auto v = line[p];\n" + take(is_better(op, false), "p"));
  if (plan.lanes > 1) {
    text +=
        "#pragma unroll\n  for (int distance = " + std::to_string(std::min(plan.lanes, 32) / 2) +
        "; distance > 0; distance /= 2) {\n"
        "  const Index other = __shfl_xor_sync(0xffffffffu, best, distance);\n" +
        choose + "  }\n";
  }
  if (plan.lanes > 32) {
    const std::string warps = std::to_string(plan.lanes / 32);
    text += "  __shared__ Index parts[" + warps +
            "];\n  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = best;\n"
            "  __syncthreads();\n  for (int warp = 0; warp < " +
            warps + "; ++warp) {\n  const Index other = parts[warp];\n" + choose + "  }\n";
  }
  source->text =
      kernel_head(parameters, plugin::num_elements(x), run_functions(op, 1) + row_constants(plan)) +
      find_shared_row(plan) + text + leave_rows(plan) +
      "  if (threadIdx.x == 0) y[row] = (long long)best;\n}\n";
  source->operands = parameters.operands();
  return set_grid(plan, source) ? plugin::ok() : too_large(op);
}

Status write(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i != axis_of(op)) kept.push_back(i);
  }
  const std::int64_t inner_size = plugin::num_elements(x.subspan(axis_of(op) + 1));
  const std::string inner = std::to_string(inner_size);
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  if (inner_size == 1) return write_rows(op, source);
  const std::string statements =
      "  const auto* line = " + data + " + " + offset_along("i", x, kept) +
      ";\n  Index best = 0;\n  for (Index p = 1; p < " + std::to_string(x[axis_of(op)]) +
      "; ++p) {\n    const auto v = line[p * " + inner + "], b = line[best * " + inner +
      "];\n    if (" + is_better(op, false) + ") best = p;\n  }\n";
  return write_kernel(op, std::move(parameters),
                      {"(long long)best", statements, 256, plugin::num_elements(x)}, source);
}

}  // namespace

const Family kArgExtremeFamily = {kKinds, check, write};

}  // namespace sluice::cuda
