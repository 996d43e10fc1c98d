// Reductions over axes. Where the innermost axis goes, threads share the row of an element of the
// output; where it stays, threads side by side have neighbours of the output, and lines of threads
// share the axes that go.

#include <algorithm>
#include <map>
#include <numeric>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/rows.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"GlobalAveragePool", "GlobalMaxPool",   "ReduceL1",  "ReduceL2",
                                  "ReduceMax",         "ReduceMean",      "ReduceMin", "ReduceProd",
                                  "ReduceSum",         "ReduceSumSquare", nullptr};

struct Formula {
  const char* first;    // the value of no elements
  const char* element;  // of an element `value`
  const char* combine;  // of `a` and `b`
  const char* result;   // of `total`; $ is the number of elements
};

const Formula& formula_of(const sluice_op& op) {
  constexpr const char* kSum = "a + b";
  static const std::map<std::string_view, Formula> kFormulas = {
      {"GlobalAveragePool", {"0.0f", "value", kSum, "(total / $)"}},
      {"GlobalMaxPool",
       {"__int_as_float(0xff800000)", "value", "a < b || b != b ? b : a", "total"}},
      {"ReduceL1", {"0.0f", "fabsf(value)", kSum, "total"}},
      {"ReduceL2", {"0.0f", "value * value", kSum, "sqrtf(total)"}},
      {"ReduceMax", {"__int_as_float(0xff800000)", "value", "a < b || b != b ? b : a", "total"}},
      {"ReduceMean", {"0.0f", "value", kSum, "(total / $)"}},
      {"ReduceMin", {"__int_as_float(0x7f800000)", "value", "b < a || b != b ? b : a", "total"}},
      {"ReduceProd", {"1.0f", "value", "a * b", "total"}},
      {"ReduceSum", {"0.0f", "value", kSum, "total"}},
      {"ReduceSumSquare", {"0.0f", "value * value", kSum, "total"}},
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

/// `total`: a name.
std::string result_text(const Formula& formula, std::int64_t size, const std::string& total) {
  std::string text = formula.result;
  text.replace(text.find("total"), 5, total);
  if (const std::size_t at = text.find('$'); at != std::string::npos) {
    text.replace(at, 1, std::to_string(size) + ".0f");
  }
  return text;
}

/// A reduction as its kernel sees it.
struct Problem {
  std::vector<std::size_t> kept, gone;  ///< axes
  std::int64_t count = 1, size = 1;     ///< elements of the output; inputs of each
  std::int64_t unbroken = 1;            ///< elements of the inner axes that stay, or that go
  bool goes_inside = true;              ///< the innermost axis goes
};

Status find_problem(const sluice_op& op, Problem* problem) {
  std::vector<bool> is_reduced;
  if (Status status = read_axes(op, &is_reduced); !status.is_ok()) return status;
  const Dims dims = plugin::dims_of(op.inputs[0].tensor);
  problem->count = plugin::num_elements(op.outputs[0].tensor);
  problem->size = plugin::num_elements(dims) / problem->count;
  bool is_inside = true;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    auto& axes = is_reduced[axis] ? problem->gone : problem->kept;
    axes.insert(axes.begin(), axis);
    if (dims[axis] == 1) continue;
    if (problem->unbroken == 1) problem->goes_inside = is_reduced[axis];
    is_inside = is_inside && is_reduced[axis] == problem->goes_inside;
    if (is_inside) problem->unbroken *= dims[axis];
  }
  return plugin::ok();
}

std::string combine_next(const Formula& formula, const std::string& target) {
  return std::string("  const float b = ") + formula.element + ";\n  const float a = " + target +
         ";\n  " + target + " = " + formula.combine + ";\n";
}

int bytes_of(const sluice_op& op) {
  return static_cast<int>(plugin::element_bits(op.inputs[0].tensor.element_type) / 8);
}

Status write_rows(const sluice_op& op, const Problem& problem, Source* source) {
  const Dims dims = plugin::dims_of(op.inputs[0].tensor);
  const Formula& formula = formula_of(op);
  const RowPlan plan = plan_rows(problem.count, problem.size,
                                 longest_run(problem.unbroken, widest_run(bytes_of(op))));
  Parameters parameters(op);
  parameters.add(0);
  add_body_inputs(op, &parameters);
  const std::string address = "from + " + offset_along("p", dims, problem.gone);
  const std::string functions = run_functions(op, plan.run) + row_constants(plan) +
                                row_function("total_of_row", formula.combine, plan.lanes);
  source->text = constants_text(op) +
                 kernel_head(parameters, plugin::num_elements(dims) + problem.count, functions) +
                 find_shared_row(plan) + "  const auto* from = x0 + " +
                 offset_along("row", dims, problem.kept) + ";\n" + keep_row(plan, address) +
                 "  float sum = " + formula.first + ";\n" +
                 each_element(plan, address,
                              "  const float value = " + value_in_row(plan) + ";\n" +
                                  combine_next(formula, "sum")) +
                 "  const float total = total_of_row(sum);\n" + leave_rows(plan) +
                 "  if (threadIdx.x != 0) return;\n" +
                 store_result(op, result_text(formula, problem.size, "total"), "row") + "}\n";
  source->operands = parameters.operands();
  return set_grid(plan, source) ? plugin::ok() : too_large(op);
}

/// Threads of a block: `across` have neighbouring runs of the output, and `lines` of them share the
/// inputs of each.
struct Lines {
  int run = 1, across = 32, lines = 1;
};

Lines choose_lines(const sluice_op& op, const Problem& problem) {
  constexpr std::int64_t kEnoughThreads = 65536, kEnoughBlocks = 128;
  constexpr int kMostThreads = 512, kSector = 32;  // bytes that memory moves at least
  const int bytes = bytes_of(op);
  Lines lines;
  lines.run = choose_run(op, std::gcd(problem.unbroken, std::int64_t{widest_run(bytes)}));
  const std::int64_t runs = problem.count / lines.run;
  while (runs / lines.across < kEnoughBlocks && lines.across * lines.run * bytes > kSector) {
    lines.across /= 2;
  }
  while (lines.lines < 4 && lines.lines * 2 <= problem.size) lines.lines *= 2;
  while (lines.lines * lines.across < kMostThreads && runs * lines.lines < kEnoughThreads &&
         problem.size / lines.lines > 8) {
    lines.lines *= 2;
  }
  return lines;
}

Status write_columns(const sluice_op& op, const Problem& problem, Source* source) {
  const Dims dims = plugin::dims_of(op.inputs[0].tensor);
  const Formula& formula = formula_of(op);
  const auto [run, across, lines] = choose_lines(op, problem);
  const std::string width = std::to_string(across);
  const std::string count = std::to_string(problem.count);
  Parameters parameters(op);
  parameters.add(0);
  add_body_inputs(op, &parameters);
  RunReader reader(op, run);
  const std::string store = store_run(op, result_text(formula, problem.size, "sums[j]"), &reader);
  const std::string each = "#pragma unroll\n  for (int j = 0; j < kRun; ++j) {\n";
  const std::string functions =
      run_functions(op, run) + "constexpr int kLines = " + std::to_string(lines) + ";\n";
  std::string text =
      "  const Index first = (Index(blockIdx.x) * " + width +
      " + threadIdx.x) * kRun;\n"
      "  const Index i = first < " +
      count + " ? first : " + count +
      " - kRun;\n"
      "  const auto* from = x0 + " +
      offset_along("i", dims, problem.kept) + ";\n  float sums[kRun];\n" + each +
      "  sums[j] = " + formula.first +
      ";\n  }\n#pragma unroll 8\n  for (Index p = threadIdx.y; p < " +
      std::to_string(problem.size) + "; p += kLines) {\n  const auto own = load_run<kRun>(from + " +
      offset_along("p", dims, problem.gone) + ");\n" + each + "  const float value = own.at[j];\n" +
      combine_next(formula, "sums[j]") + "  }\n  }\n";
  if (lines > 1) {
    text += "  __shared__ float parts[kLines][kRun][" + width + "];\n" + each +
            "  parts[threadIdx.y][j][threadIdx.x] = sums[j];\n  }\n  __syncthreads();\n"
            "  if (threadIdx.y != 0) return;\n#pragma unroll 8\n"
            "  for (int line = 1; line < kLines; ++line) {\n" +
            each + "  const float a = sums[j], b = parts[line][j][threadIdx.x];\n  sums[j] = " +
            formula.combine + ";\n  }\n  }\n";
  }
  text += "  if (first != i) return;\n";
  source->text = constants_text(op) +
                 kernel_head(parameters, plugin::num_elements(dims) + problem.count, functions) +
                 text + reader.loads() + store + "}\n";
  source->block = {static_cast<unsigned>(across), static_cast<unsigned>(lines), 1};
  source->operands = parameters.operands();
  return set_grid(problem.count / run, across, source) ? plugin::ok() : too_large(op);
}

Status write(const sluice_op& op, Source* source) {
  Problem problem;
  if (Status status = find_problem(op, &problem); !status.is_ok()) return status;
  return problem.goes_inside ? write_rows(op, problem, source) : write_columns(op, problem, source);
}

}  // namespace

const Family kReductionFamily = {kKinds, check, write};

}  // namespace sluice::cuda
