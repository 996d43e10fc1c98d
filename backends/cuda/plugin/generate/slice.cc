// Slice: a thread copies a run of the output. Threads read the starts and steps that only a run
// knows.

#include <algorithm>
#include <numeric>
#include <optional>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"
#include "plugin/generate/text/runs.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Slice", nullptr};

enum Operand : int { kStarts = 1, kEnds, kAxes, kSteps };

bool has_input(const sluice_op& op, int input) {
  return op.num_inputs > input && !plugin::is_absent(op.inputs[input].tensor);
}

/// What happens along one axis: places start, start + step, ...
struct Cut {
  std::int64_t start = 0, step = 1;
  /// Where only a run knows the start, the end or the step: which element of these inputs it is.
  std::optional<std::size_t> number = std::nullopt;
};

/// The numbers of an input; nullopt where only a run knows them, or where it is absent.
std::optional<std::vector<std::int64_t>> numbers_of(const sluice_op& op, int input) {
  return has_input(op, input) ? constant_integers(op, input) : std::nullopt;
}

/// How many axes are cut; -1 where only a run knows.
std::int64_t num_cuts(const sluice_op& op) {
  return plugin::num_elements(op.inputs[kStarts].tensor);
}

/// Whether an optional input has `count` numbers, as far as that is known.
bool has_count(const sluice_op& op, int input, std::int64_t count) {
  if (!has_input(op, input)) return true;
  return op.inputs[input].tensor.rank == 1 &&
         agree(plugin::num_elements(op.inputs[input].tensor), count);
}

/// The cut of an axis by known numbers, and how many places it leaves.
Cut cut_axis(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step,
             std::int64_t* left) {
  const bool is_back = step < 0;
  const auto clamp = [&](std::int64_t place) {
    if (place < 0) place += extent;
    return is_back ? std::clamp<std::int64_t>(place, -1, extent - 1)
                   : std::clamp<std::int64_t>(place, 0, extent);
  };
  const std::int64_t first = clamp(start);
  const std::int64_t room = is_back ? first - clamp(end) : clamp(end) - first;
  *left = room <= 0 ? 0 : (room - 1) / (is_back ? -step : step) + 1;
  return {first, step};
}

/// By axis. Fails where the numbers do not give the output.
Status read_cuts(const sluice_op& op, std::vector<Cut>* cuts) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const auto rank = static_cast<std::int64_t>(x.size());
  const std::int64_t count = num_cuts(op);
  if (count < 0) return plugin::unimplemented("Slice: an unknown number of axes");
  if (count > rank || !has_count(op, kStarts, count) || !has_count(op, kEnds, count) ||
      !has_count(op, kAxes, count) || !has_count(op, kSteps, count)) {
    return shapes_disagree(op);
  }
  const auto starts = numbers_of(op, kStarts);
  const auto ends = numbers_of(op, kEnds);
  const auto axes = numbers_of(op, kAxes);
  const auto steps = numbers_of(op, kSteps);
  const bool is_known = starts && ends && (steps || !has_input(op, kSteps));
  cuts->assign(x.size(), {});
  std::vector<std::int64_t> expected(x.begin(), x.end());
  std::vector<bool> is_cut(x.size(), false);
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
    std::int64_t axis = axes ? (*axes)[k] : static_cast<std::int64_t>(k);
    if (axis < 0) axis += rank;
    const std::int64_t step = steps ? (*steps)[k] : 1;
    if (axis < 0 || axis >= rank || step == 0 || step == INT64_MIN) return shapes_disagree(op);
    const auto at = static_cast<std::size_t>(axis);
    if (is_cut[at]) return shapes_disagree(op);
    is_cut[at] = true;
    if (!is_known) {
      (*cuts)[at].number = k;
      expected[at] = -1;
    } else if (x[at] >= 0) {
      (*cuts)[at] = cut_axis(x[at], (*starts)[k], (*ends)[k], step, &expected[at]);
    }
  }
  return agree(expected, plugin::dims_of(op.outputs[0].tensor)) ? plugin::ok()
                                                                : shapes_disagree(op);
}

Status check(const sluice_op& op) {
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  for (const int input : {kStarts, kEnds, kAxes, kSteps}) {
    if (input > kEnds && !has_input(op, input)) continue;
    Status status = input == kAxes ? check_constant_integers(op, input) : check_integers(op, input);
    if (!status.is_ok()) return status;
  }
  std::vector<Cut> cuts;
  return read_cuts(op, &cuts);
}

/// Statements that make the offset along `axis` a variable `offset<axis>` from numbers that the
/// kernel reads. The host has read the same numbers to know the output's size; a place outside of
/// the axis, which they cannot give, is reported all the same.
std::string read_offset(const Cut& cut, std::size_t axis, Dims x, const std::string& along,
                        const std::string& starts, const std::string& steps) {
  const std::string n = std::to_string(axis);
  const std::string extent = std::to_string(x[axis]);
  const std::string k = std::to_string(*cut.number);
  const std::string step = steps.empty() ? "1" : steps + "[" + k + "]";
  return "  long long offset" + n + ";\n  {\n  const long long step = " + step +
         ";\n  long long at = " + starts + "[" + k + "];\n  if (at < 0) at += " + extent +
         ";\n  const long long least = step < 0 ? -1 : 0;\n  at = at < least ? least : at >= " +
         extent + " ? " + extent + " - (step < 0 ? 1 : 0) : at;\n  at += (long long)(" + along +
         ") * step;\n" + check_place(x[axis], x[axis], axis) + "  offset" + n + " = at * " +
         std::to_string(plugin::num_elements(x.subspan(axis + 1))) + ";\n  }\n";
}

/// Neighbours of the output that are neighbours in the input: those in the inner axes that are not
/// cut, or in a piece of the innermost axis that is.
std::int64_t unbroken_of(std::span<const Cut> cuts, Dims x, Dims y) {
  std::int64_t inner = 1;
  for (std::size_t axis = x.size(); axis-- > 0;) {
    const Cut& cut = cuts[axis];
    if (cut.number || (cut.step != 1 && y[axis] != 1)) return inner;
    if (cut.start != 0 || y[axis] != x[axis]) {
      return std::gcd(std::gcd(inner * y[axis], inner * x[axis]), inner * cut.start);
    }
    inner *= x[axis];
  }
  return inner;
}

Status write(const sluice_op& op, Source* source) {
  std::vector<Cut> cuts;
  if (Status status = read_cuts(op, &cuts); !status.is_ok()) return status;
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  std::string starts, steps, statements, offset;
  if (std::ranges::any_of(cuts, [](const Cut& cut) { return cut.number.has_value(); })) {
    starts = read_integers(op, kStarts, &parameters, &statements);
    if (has_input(op, kSteps)) steps = read_integers(op, kSteps, &parameters, &statements);
    parameters.report_indices();
  }
  const bool is_short = std::max(plugin::num_elements(x), plugin::num_elements(y)) < kMaxShortIndex;
  const std::string wide = is_short ? "int" : "(long long)";
  std::int64_t first = 0;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::int64_t stride = plugin::num_elements(x.subspan(axis + 1));
    std::vector<std::int64_t> strides(y.size(), 0);
    strides[axis] = 1;
    const std::string along = strided_index("i", y, strides);
    if (cuts[axis].number) {
      statements += read_offset(cuts[axis], axis, x, along, starts, steps);
      offset += " + offset" + std::to_string(axis);
      continue;
    }
    first += cuts[axis].start * stride;
    offset.append(" + ").append(wide).append("(").append(along).append(") * ");
    offset.append(std::to_string(y[axis] == 1 ? 0 : cuts[axis].step * stride));
  }
  const std::string from =
      "  const auto* from = " + data + " + (" + std::to_string(first) + offset + ");\n";
  return write_run_kernel(op, std::move(parameters),
                          {"own.at[j]", statements + from + kLoadOwn,
                           choose_run(op, unbroken_of(cuts, x, y)), plugin::num_elements(x)},
                          source);
}

}  // namespace

const Family kSliceFamily = {kKinds, check, write};

}  // namespace sluice::cuda
