// ReduceSum, ReduceMean and their kin, over neighbouring axes.

#include "kernels/rows/reduce.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

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
};

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

/// Whether the reduced axes are neighbours: then they are [*begin, *end).
bool find_run(const std::vector<bool>& reduced, std::int64_t* begin, std::int64_t* end) {
  const auto first = std::find(reduced.begin(), reduced.end(), true);
  const auto last = std::find(first, reduced.end(), false);
  *begin = first - reduced.begin();
  *end = last - reduced.begin();
  return first != last && std::find(last, reduced.end(), true) == reduced.end();
}

Status check_reduce(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  std::vector<bool> reduced;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  if (x.element_type != plugin::kF32 || y.element_type != plugin::kF32)
    return unimplemented("not f32");
  if (x.layout != SLUICE_LAYOUT_ROW_MAJOR || y.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return unimplemented("blocked layout");
  }
  if (op.body != nullptr) return unimplemented("fused body");
  if (x.rank == 0 || !find_axes(op, x.rank, &reduced) || !find_run(reduced, &begin, &end)) {
    return unimplemented("reduction over scattered axes");
  }
  return plugin::ok();
}

class Reduce : public Kernel {
 public:
  Reduce(const sluice_op& op, const ReducePlan& plan, Isa isa)
      : Kernel(op), plan_(plan), run_reduce_(SLUICE_CPU_PICK(isa, run_reduce)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    run_reduce_(plan_, run.input<float>(0), run.output<float>(0), worker);
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {plan_.outer, plan_.axis, plan_.inner, sizeof(float)});
    extents.writes(0, {plan_.outer, plan_.inner, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(plan_.outer * plan_.axis * plan_.inner) * 0.1;
  }

 private:
  ReducePlan plan_;
  decltype(&portable::run_reduce) run_reduce_;
};

Status make_reduce(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor& x = op.inputs[0].tensor;
  std::vector<bool> reduced;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  find_axes(op, x.rank, &reduced);
  find_run(reduced, &begin, &end);
  const auto* const meaning =
      std::find_if(std::begin(kMeanings), std::end(kMeanings),
                   [&](const Meaning& m) { return std::string_view(m.kind) == op.kind; });
  ReducePlan plan;
  plan.outer = product(dims_of(x), 0, begin);
  plan.axis = product(dims_of(x), begin, end);
  plan.inner = product(dims_of(x), end, x.rank);
  plan.kind = meaning->fold;
  plan.root = meaning->root;
  if (plan.axis == 0) return unimplemented("reduction over nothing");
  if (meaning->mean) plan.scale = static_cast<float>(1.0 / static_cast<double>(plan.axis));
  *kernel = std::make_unique<Reduce>(op, plan, isa);
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
