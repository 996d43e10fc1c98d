// Reductions over axes: a warp per element of the output.

#include <algorithm>
#include <map>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/warp_rows.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"GlobalAveragePool", "GlobalMaxPool",   "ReduceL1",  "ReduceL2",
                                  "ReduceMax",         "ReduceMean",      "ReduceMin", "ReduceProd",
                                  "ReduceSum",         "ReduceSumSquare", nullptr};

struct Formula {
  const char* first;    // the value of no elements
  const char* element;  // of an element `v`
  const char* combine;  // of `a` and `b`
  const char* result;   // of `total`; $ is the number of elements
};

const Formula& formula_of(const sluice_op& op) {
  constexpr const char* kSum = "a + b";
  static const std::map<std::string_view, Formula> kFormulas = {
      {"GlobalAveragePool", {"0.0f", "v", kSum, "(total / $)"}},
      {"GlobalMaxPool", {"__int_as_float(0xff800000)", "v", "a < b || b != b ? b : a", "total"}},
      {"ReduceL1", {"0.0f", "fabsf(v)", kSum, "total"}},
      {"ReduceL2", {"0.0f", "v * v", kSum, "sqrtf(total)"}},
      {"ReduceMax", {"__int_as_float(0xff800000)", "v", "a < b || b != b ? b : a", "total"}},
      {"ReduceMean", {"0.0f", "v", kSum, "(total / $)"}},
      {"ReduceMin", {"__int_as_float(0x7f800000)", "v", "b < a || b != b ? b : a", "total"}},
      {"ReduceProd", {"1.0f", "v", "a * b", "total"}},
      {"ReduceSum", {"0.0f", "v", kSum, "total"}},
      {"ReduceSumSquare", {"0.0f", "v * v", kSum, "total"}},
  };
  return kFormulas.at(op.kind);
}

/// Which axes go. Fails where only a run knows.
Status read_axes(const sluice_op& op, std::vector<bool>* is_reduced) {
  const plugin::Attributes attributes(op);
  std::span<const std::int64_t> axes = attributes.get_ints("axes");
  if (op.num_inputs > 1 && !plugin::is_absent(op.inputs[1].tensor)) {
    const sluice_operand& given = op.inputs[1];
    if (given.is_constant == 0 || given.tensor.data == nullptr ||
        given.tensor.element_type != plugin::kI64) {
      return plugin::unimplemented(plugin::kind_of(op) + ": the axes are no constant");
    }
    axes = plugin::elements<const std::int64_t>(given.tensor);
  }
  const auto rank = static_cast<std::size_t>(op.inputs[0].tensor.rank);
  if (std::string_view(op.kind).starts_with("Global")) {  // all axes behind batch and channels
    is_reduced->assign(rank, true);
    std::fill_n(is_reduced->begin(), std::min<std::size_t>(rank, 2), false);
    return plugin::ok();
  }
  const bool is_all = axes.empty() && attributes.get_int("noop_with_empty_axes") == 0;
  is_reduced->assign(rank, is_all);
  for (const std::int64_t axis : axes) {
    const std::int64_t from_front = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (from_front < 0 || from_front >= static_cast<std::int64_t>(rank)) {
      return plugin::invalid_argument(plugin::kind_of(op) + ": no axis " + std::to_string(axis));
    }
    (*is_reduced)[static_cast<std::size_t>(from_front)] = true;
  }
  return plugin::ok();
}

Status check(const sluice_op& op) {
  std::vector<bool> is_reduced;
  if (Status status = check_floats(op, 1); !status.is_ok()) return status;
  if (Status status = read_axes(op, &is_reduced); !status.is_ok()) return status;
  const bool keeps = plugin::Attributes(op).get_int("keepdims", 1) != 0;
  const Dims dims = plugin::dims_of(op.inputs[0].tensor);
  std::vector<std::int64_t> left;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!is_reduced[i] || keeps) left.push_back(is_reduced[i] ? 1 : dims[i]);
  }
  return agree(left, plugin::dims_of(op.outputs[0].tensor)) ? plugin::ok() : shapes_disagree(op);
}

std::string result_text(const Formula& formula, std::int64_t size) {
  std::string text = formula.result;
  if (const std::size_t at = text.find('$'); at != std::string::npos) {
    text.replace(at, 1, std::to_string(size) + ".0f");
  }
  return text;
}

Status write(const sluice_op& op, Source* source) {
  std::vector<bool> is_reduced;
  if (Status status = read_axes(op, &is_reduced); !status.is_ok()) return status;
  const Dims dims = plugin::dims_of(op.inputs[0].tensor);
  std::vector<std::size_t> kept;
  std::vector<std::size_t> gone;
  for (std::size_t i = 0; i < dims.size(); ++i) (is_reduced[i] ? gone : kept).push_back(i);
  const std::int64_t count = plugin::num_elements(op.outputs[0].tensor);
  const std::int64_t size = plugin::num_elements(op.inputs[0].tensor) / count;
  const Formula& formula = formula_of(op);
  Parameters parameters(op);
  const std::string x = parameters.add(0);
  add_body_inputs(op, &parameters);
  source->text =
      warp_function("total_of_warp", formula.combine) + constants_text(op) +
      kernel_head(parameters, std::max(count * size, count)) + find_row(count) +
      "  const Index start = " + offset_along("row", dims, kept) +
      ";\n  float a = " + formula.first + ";\n  for (Index j = threadIdx.x; j < " +
      std::to_string(size) + "; j += 32) {\n    const float v = " + x + "[start + " +
      offset_along("j", dims, gone) + "];\n    const float b = " + formula.element +
      ";\n    a = " + formula.combine +
      ";\n  }\n  const float total = total_of_warp(a);\n  if (threadIdx.x != 0) return;\n" +
      store_result(op, result_text(formula, size), "row") + "}\n";
  source->operands = parameters.operands();
  return set_row_grid(count, source) ? plugin::ok() : too_large(op);
}

}  // namespace

const Family kReductionFamily = {kKinds, check, write};

}  // namespace sluice::cuda
