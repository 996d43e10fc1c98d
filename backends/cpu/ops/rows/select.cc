// The largest or smallest elements along an axis: ArgMax, ArgMin, TopK.

#include <algorithm>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "kernels/rows/reduce.h"
#include "kernels/rows/top_k.h"
#include "ops/rows/along_axis.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::Attributes;

/// Whether `a` goes before `b`. A NaN counts as larger than every number, as in NumPy and PyTorch.
template <bool kLargest>
bool leads(float a, float b) {
  if constexpr (kLargest) return a > b || (a != a && b == b);
  return a < b || (a == a && b != b);
}

// ---- ArgMax, ArgMin
// -------------------------------------------------------------------------------

template <bool kLargest>
class ArgExtreme : public Kernel {
 public:
  ArgExtreme(const sluice_op& op, Isa isa)
      : Kernel(op),
        run_reduce_(SLUICE_CPU_PICK(isa, run_reduce)),
        find_equal_(SLUICE_CPU_PICK(isa, find_equal)),
        keep_extremes_(SLUICE_CPU_PICK(isa, keep_extremes)),
        view_(along_axis(op.inputs[0].tensor, Attributes(op).get_int("axis"))),
        takes_last_(Attributes(op).get_int("select_last_index") != 0) {}

  void run(const Run& run, int, const Worker& worker) const override {
    if (view_.inner == 1) return run_rows(run, worker);
    const std::int64_t strips = (view_.inner + kStrip - 1) / kStrip;
    const Share share = share_of(view_.outer * strips, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t first = i % strips * kStrip;
      const std::int64_t outer = i / strips;
      run_strip(run.input<float>(0) + outer * view_.axis * view_.inner + first,
                run.output<std::int64_t>(0) + outer * view_.inner + first,
                std::min(kStrip, view_.inner - first));
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {view_.outer, view_.axis, view_.inner, sizeof(float)});
    extents.writes(0, {view_.outer, view_.inner, sizeof(std::int64_t)});
  }
  double cost_ns() const override { return static_cast<double>(view_.elements()) * 0.5; }

 private:
  static constexpr std::int64_t kStrip = 512;  // its extremes and their places stay in a cache

  /// The extreme of a row, and where it is: it stays in a cache for the second look.
  void run_rows(const Run& run, const Worker& worker) const {
    const Share share = share_of(view_.outer, 1, worker);
    const ReducePlan plan = {1, view_.axis, 1, kLargest ? ReduceKind::kMax : ReduceKind::kMin};
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const float* x = run.input<float>(0) + i * view_.axis;
      float extreme = 0;
      run_reduce_(plan, x, &extreme, Worker{});
      run.output<std::int64_t>(0)[i] = find_equal_(x, view_.axis, extreme, takes_last_);
    }
  }

  /// Neighbouring columns together, so that memory is read in order.
  void run_strip(const float* x, std::int64_t* y, std::int64_t columns) const {
    float best[kStrip];
    std::int32_t places[kStrip] = {};
    std::copy_n(x, columns, best);
    for (std::int64_t k = 1; k < view_.axis; ++k) {
      keep_extremes_(x + k * view_.inner, columns, static_cast<std::int32_t>(k), kLargest,
                     takes_last_, best, places);
    }
    std::copy_n(places, columns, y);
  }

  decltype(&portable::run_reduce) run_reduce_;
  decltype(&portable::find_equal) find_equal_;
  decltype(&portable::keep_extremes) keep_extremes_;
  AlongAxis view_;
  bool takes_last_;
};

Status check_arg(const sluice_op& op) {
  if (op.outputs[0].tensor.element_type != plugin::kI64) return plugin::unimplemented("not i64");
  return check_f32_axis(op, Attributes(op).get_int("axis"));
}

template <bool kLargest>
Status make_arg(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const AlongAxis view = along_axis(op.inputs[0].tensor, Attributes(op).get_int("axis"));
  if (view.elements() == 0) return plugin::unimplemented("an extreme of nothing");
  if (view.axis > INT32_MAX) return plugin::unimplemented("so long an axis");
  *kernel = std::make_unique<ArgExtreme<kLargest>>(op, isa);
  return plugin::ok();
}

// ---- TopK
// -----------------------------------------------------------------------------------------

class TopK : public Kernel {
 public:
  TopK(const sluice_op& op, Isa isa)
      : Kernel(op),
        find_beyond_(SLUICE_CPU_PICK(isa, find_beyond)),
        view_(along_axis(op.inputs[0].tensor, axis_of(op))),
        k_(along_axis(op.outputs[0].tensor, axis_of(op)).axis),
        is_largest_(Attributes(op).get_int("largest", 1) != 0) {}

  static std::int64_t axis_of(const sluice_op& op) { return Attributes(op).get_int("axis", -1); }

  std::int64_t scratch_bytes() const override {
    return view_.axis * static_cast<std::int64_t>(sizeof(Candidate));
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(view_.outer * view_.inner, 1, worker);
    auto* candidates = reinterpret_cast<Candidate*>(worker.scratch);
    for (std::int64_t line = share.begin; line < share.end; ++line) {
      const std::int64_t outer = line / view_.inner;
      const std::int64_t inner = line % view_.inner;
      const float* x = run.input<float>(0) + outer * view_.axis * view_.inner + inner;
      if (view_.inner == 1 && k_ > 0 && k_ <= kFew) {
        is_largest_ ? select<true>(x, candidates) : select<false>(x, candidates);
      } else {
        for (std::int64_t i = 0; i < view_.axis; ++i) candidates[i] = {x[i * view_.inner], i};
        is_largest_ ? sort<true>(candidates) : sort<false>(candidates);
      }
      const std::int64_t to = outer * k_ * view_.inner + inner;
      for (std::int64_t i = 0; i < k_; ++i) {
        run.output<float>(0)[to + i * view_.inner] = candidates[i].value;
        run.output<std::int64_t>(1)[to + i * view_.inner] = candidates[i].place;
      }
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {view_.outer, view_.axis, view_.inner, sizeof(float)});
    extents.writes(0, {view_.outer, k_, view_.inner, sizeof(float)});
    extents.writes(1, {view_.outer, k_, view_.inner, sizeof(std::int64_t)});
  }
  double cost_ns() const override {
    return static_cast<double>(view_.elements()) * (view_.inner == 1 && k_ <= kFew ? 0.5 : 5);
  }

 private:
  struct Candidate {
    float value;
    std::int64_t place;
  };

  /// Candidates that are kept in order while the others pass.
  static constexpr std::int64_t kFew = 64;

  /// Of equal elements the first ones are kept, in their order: a later one must lead to enter.
  template <bool kLargest>
  void select(const float* x, Candidate* kept) const {
    for (std::int64_t i = 0; i < k_; ++i) insert<kLargest>(x[i], i, i, kept);
    for (std::int64_t i = k_; i < view_.axis;) {
      i = find_beyond_(x, i, view_.axis, kept[k_ - 1].value, kLargest);
      const std::int64_t end = std::min(i + kBeyondStep, view_.axis);
      for (; i < end; ++i) {
        if (leads<kLargest>(x[i], kept[k_ - 1].value)) insert<kLargest>(x[i], i, k_ - 1, kept);
      }
    }
  }

  /// Puts a value among the first `count` candidates; what was at `count` is overwritten.
  template <bool kLargest>
  static void insert(float value, std::int64_t place, std::int64_t count, Candidate* kept) {
    std::int64_t at = count;
    for (; at > 0 && leads<kLargest>(value, kept[at - 1].value); --at) kept[at] = kept[at - 1];
    kept[at] = {value, place};
  }

  /// Of equal elements the first ones are kept, in their order.
  template <bool kLargest>
  void sort(Candidate* all) const {
    std::partial_sort(all, all + k_, all + view_.axis, [](const Candidate& a, const Candidate& b) {
      return leads<kLargest>(a.value, b.value) ||
             (!leads<kLargest>(b.value, a.value) && a.place < b.place);
    });
  }

  decltype(&portable::find_beyond) find_beyond_;
  AlongAxis view_;
  std::int64_t k_;
  bool is_largest_;
};

Status check_top_k(const sluice_op& op) {
  if (op.num_outputs != 2 || plugin::is_absent(op.outputs[0].tensor) ||
      plugin::is_absent(op.outputs[1].tensor) ||
      op.outputs[1].tensor.element_type != plugin::kI64 ||
      op.outputs[0].tensor.rank != op.inputs[0].tensor.rank) {
    return plugin::unimplemented("other outputs");
  }
  return check_f32_axis(op, TopK::axis_of(op));
}

Status make_top_k(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const AlongAxis in = along_axis(op.inputs[0].tensor, TopK::axis_of(op));
  const AlongAxis out = along_axis(op.outputs[0].tensor, TopK::axis_of(op));
  if (in.elements() == 0 || out.axis > in.axis || out.outer != in.outer || out.inner != in.inner) {
    return plugin::unimplemented("shapes that do not fit");
  }
  *kernel = std::make_unique<TopK>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> select_entries() {
  return {{.kind = "ArgMax", .check = check_arg, .make = make_arg<true>},
          {.kind = "ArgMin", .check = check_arg, .make = make_arg<false>},
          {.kind = "TopK", .check = check_top_k, .make = make_top_k}};
}

}  // namespace sluice::cpu
