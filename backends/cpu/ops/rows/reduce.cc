// ReduceSum, ReduceMean and their kin, over any axes.

#include "kernels/rows/reduce.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/rows/typed_reduce.h"
#include "ops/elementwise/numbers_of.h"
#include "ops/operands/checks.h"
#include "ops/operands/constants.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

struct Meaning {
  const char* kind;
  ReduceKind fold;
  bool mean;
  bool root;
};

constexpr Meaning kMeanings[] = {
    {"ReduceSum", ReduceKind::kSum, false, false},
    {"ReduceMean", ReduceKind::kSum, true, false},
    {"ReduceMax", ReduceKind::kMax, false, false},
    {"ReduceMin", ReduceKind::kMin, false, false},
    {"ReduceL1", ReduceKind::kSumOfMagnitudes, false, false},
    {"ReduceL2", ReduceKind::kSumOfSquares, false, true},
    {"ReduceSumSquare", ReduceKind::kSumOfSquares, false, false},
    {"ReduceProd", ReduceKind::kProduct, false, false},
};

const Meaning& meaning_of(const sluice_op& op) {
  return *std::find_if(std::begin(kMeanings), std::end(kMeanings),
                       [&](const Meaning& m) { return std::string_view(m.kind) == op.kind; });
}

/// The axes of the input, which older forms are upgraded to have; all if none are named.
bool find_axes(const sluice_op& op, std::int64_t rank, std::vector<bool>* reduced) {
  Dims axes;
  if (!constant_integers(op, 1, &axes)) return false;
  const bool all = axes.empty();
  if (all && plugin::Attributes(op).get_int("noop_with_empty_axes") != 0) return false;
  reduced->assign(static_cast<std::size_t>(rank), all);
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank) return false;
    (*reduced)[static_cast<std::size_t>(from_front(axis, rank))] = true;
  }
  return true;
}

struct AxisRun {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Neighbouring reduced axes, the last run first.
std::vector<AxisRun> runs_of(const std::vector<bool>& reduced) {
  std::vector<AxisRun> runs;
  for (auto end = static_cast<std::int64_t>(reduced.size()); end > 0; --end) {
    if (!reduced[static_cast<std::size_t>(end - 1)]) continue;
    if (!runs.empty() && runs.back().begin == end) {
      runs.back().begin = end - 1;
    } else {
      runs.push_back({end - 1, end});
    }
  }
  return runs;
}

Status check_reduce(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  std::vector<bool> reduced;
  if (!number_of(x.element_type) || y.element_type != x.element_type) {
    return unimplemented("no form for the type");
  }
  const Meaning& meaning = meaning_of(op);
  const bool is_float = x.element_type == plugin::kF32 || x.element_type == plugin::kF64;
  // In whole numbers, means and roots are rounded from sums of 64 bits.
  if ((meaning.mean || meaning.root) && !is_float) return unimplemented("not a float");
  if (x.layout != SLUICE_LAYOUT_ROW_MAJOR || y.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return unimplemented("blocked layout");
  }
  if (op.body != nullptr) return unimplemented("fused body");
  if (x.rank == 0 || !find_axes(op, x.rank, &reduced) || runs_of(reduced).empty()) {
    return unimplemented("reduction over axes that are not known, or over none");
  }
  // Products of floats between two folds may leave the range that the whole stays in.
  const bool is_once = meaning.fold != ReduceKind::kProduct || x.element_type != plugin::kF32;
  return is_once || runs_of(reduced).size() == 1 ? plugin::ok() : unimplemented("two runs of axes");
}

/// A phase folds each run of axes, the last one first, so that each but the first phase reads a
/// fraction of the tensor.
class Reduce : public Kernel {
 public:
  Reduce(const sluice_op& op, std::vector<ReducePlan> folds, Isa isa)
      : Kernel(op),
        folds_(std::move(folds)),
        type_(*number_of(op.inputs[0].tensor.element_type)),
        bytes_(element_bytes(op.inputs[0].tensor)),
        is_float_(type_ == Number::kF32 && folds_[0].kind != ReduceKind::kProduct),
        run_reduce_(SLUICE_CPU_PICK(isa, run_reduce)),
        run_typed_reduce_(SLUICE_CPU_PICK(isa, run_typed_reduce)) {}

  int phases() const override { return static_cast<int>(folds_.size()); }
  void run(const Run& run, int phase, const Worker& worker) const override {
    std::byte* y = run.shared();
    const std::byte* x = run.input<std::byte>(0);
    // Results between the phases lie in the shared memory, one phase's behind the other's.
    for (int i = 0; i < phase; ++i) {
      x = y;
      y += num_results(i) * bytes_;
    }
    if (phase + 1 == phases()) y = run.output<std::byte>(0);
    const ReducePlan& fold = folds_[static_cast<std::size_t>(phase)];
    if (!is_float_) return run_typed_reduce_(fold, type_, x, y, worker);
    run_reduce_(fold, reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y), worker);
  }
  std::int64_t shared_bytes() const override {
    std::int64_t sum = 0;
    for (int i = 0; i + 1 < phases(); ++i) sum += num_results(i);
    return sum * bytes_;
  }
  void extents(Extents& extents) const override {
    const ReducePlan& first = folds_.front();
    extents.reads(0, {first.outer, first.axis, first.inner, bytes_});
    extents.writes(0, {folds_.back().outer, folds_.back().inner, bytes_});
  }
  double cost_ns() const override {
    const ReducePlan& first = folds_.front();
    return static_cast<double>(first.outer * first.axis * first.inner) * 0.1;
  }

 private:
  std::int64_t num_results(int fold) const {
    const ReducePlan& plan = folds_[static_cast<std::size_t>(fold)];
    return plan.outer * plan.inner;
  }

  const std::vector<ReducePlan> folds_;
  Number type_;
  std::int64_t bytes_;
  bool is_float_;
  decltype(&portable::run_reduce) run_reduce_;
  decltype(&portable::run_typed_reduce) run_typed_reduce_;
};

/// What folds the results of `kind` further.
ReduceKind next_of(ReduceKind kind) {
  const bool sums =
      kind != ReduceKind::kMax && kind != ReduceKind::kMin && kind != ReduceKind::kProduct;
  return sums ? ReduceKind::kSum : kind;
}

Status make_reduce(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor& x = op.inputs[0].tensor;
  std::vector<bool> reduced;
  find_axes(op, x.rank, &reduced);
  const Meaning& meaning = meaning_of(op);
  std::vector<ReducePlan> folds;
  Dims dims(dims_of(x).begin(), dims_of(x).end());
  std::int64_t count = 1;
  for (const AxisRun& axes : runs_of(reduced)) {
    ReducePlan plan;
    plan.outer = product(dims, 0, axes.begin);
    plan.axis = product(dims, axes.begin, axes.end);
    plan.inner = product(dims, axes.end, x.rank);
    plan.kind = folds.empty() ? meaning.fold : next_of(meaning.fold);
    if (plan.axis == 0) return unimplemented("reduction over nothing");
    count *= plan.axis;
    std::fill(dims.begin() + axes.begin, dims.begin() + axes.end, 1);
    folds.push_back(plan);
  }
  // The root and the divisor belong to the whole reduction, so only the last fold has them.
  folds.back().root = meaning.root;
  if (meaning.mean) folds.back().divisor = static_cast<double>(count);
  *kernel = std::make_unique<Reduce>(op, std::move(folds), isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> reduce_entries() {
  std::vector<OpEntry> entries;
  for (const Meaning& meaning : kMeanings) {
    entries.push_back({.kind = meaning.kind, .check = check_reduce, .make = make_reduce});
  }
  return entries;
}

}  // namespace sluice::cpu
