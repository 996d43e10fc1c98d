// The largest or smallest elements along an axis: ArgMax, ArgMin, Hardmax, TopK.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/rows/reduce.h"
#include "kernels/rows/top_k.h"
#include "kernels/rows/typed_reduce.h"
#include "ops/elementwise/numbers_of.h"
#include "ops/rows/along_axis.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::Attributes;

/// Whether `a` goes before `b`. A NaN counts as larger than every number, as in NumPy and PyTorch.
template <bool kLargest, typename T>
bool leads(T a, T b) {
  if constexpr (kLargest) return a > b || (a != a && b == b);
  return a < b || (a == a && b != b);
}

// ---- ArgMax, ArgMin -----------------------------------------------------------------------------

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

/// The same of other types. Along the last axis: of each row the extreme, then its place.
template <bool kLargest, typename T>
class TypedArgExtreme : public Kernel {
 public:
  TypedArgExtreme(const sluice_op& op, const AlongAxis& view, Isa isa)
      : Kernel(op),
        reduce_(SLUICE_CPU_PICK(isa, run_typed_reduce)),
        type_(*number_of(op.inputs[0].tensor.element_type)),
        view_(view),
        takes_last_(Attributes(op).get_int("select_last_index") != 0) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t strips = (view_.inner + kStrip - 1) / kStrip;
    const Share share = share_of(view_.outer * strips, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t first = i % strips * kStrip;
      const T* x = run.input<T>(0) + i / strips * view_.axis * view_.inner + first;
      std::int64_t* y = run.output<std::int64_t>(0) + i / strips * view_.inner + first;
      if (view_.inner == 1) {
        *y = place_in_row({x, static_cast<std::size_t>(view_.axis)});
      } else {
        takes_last_ ? run_strip<true>(x, y, std::min(kStrip, view_.inner - first))
                    : run_strip<false>(x, y, std::min(kStrip, view_.inner - first));
      }
    }
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {view_.outer, view_.axis, view_.inner, sizeof(T)});
    extents.writes(0, {view_.outer, view_.inner, sizeof(std::int64_t)});
  }
  double cost_ns() const override {
    return static_cast<double>(view_.elements()) * (view_.inner == 1 ? 0.3 : 1);
  }

 private:
  static constexpr std::int64_t kStrip = 256;  // its extremes stay in a cache

  std::int64_t place_in_row(std::span<const T> row) const {
    const ReducePlan plan = {1, view_.axis, 1, kLargest ? ReduceKind::kMax : ReduceKind::kMin};
    T extreme = 0;
    reduce_(plan, type_, row.data(), &extreme, Worker{});
    const auto is_there = [&](T value) {
      return value == extreme || (value != value && extreme != extreme);
    };
    const auto place = takes_last_ ? std::find_if(row.rbegin(), row.rend(), is_there).base() - 1
                                   : std::find_if(row.begin(), row.end(), is_there);
    return place - row.begin();
  }

  /// Whether `a` is more of an extreme than `b`. A NaN is the extreme of either kind, as in NumPy.
  static bool is_beyond(T a, T b) { return (kLargest ? a > b : a < b) || (a != a && b == b); }

  /// Neighbouring columns together, so that memory is read in order.
  template <bool kTakesLast>
  void run_strip(const T* x, std::int64_t* y, std::int64_t columns) const {
    T best[kStrip];
    std::copy_n(x, columns, best);
    std::fill_n(y, columns, 0);
    for (std::int64_t k = 1; k < view_.axis; ++k) {
      const T* row = x + k * view_.inner;
      for (std::int64_t c = 0; c < columns; ++c) {
        const bool is_better =
            kTakesLast ? !is_beyond(best[c], row[c]) : is_beyond(row[c], best[c]);
        best[c] = is_better ? row[c] : best[c];
        y[c] = is_better ? k : y[c];
      }
    }
  }

  decltype(&portable::run_typed_reduce) reduce_;
  Number type_;
  AlongAxis view_;
  bool takes_last_;
};

bool has_typed_form(sluice_element_type type) {
  return type == plugin::kF64 || type == plugin::kI64 || type == plugin::kI32 ||
         type == plugin::kI8 || type == plugin::kU8;
}

Status check_arg(const sluice_op& op) {
  if (op.outputs[0].tensor.element_type != plugin::kI64) return plugin::unimplemented("not i64");
  const std::int64_t axis = Attributes(op).get_int("axis");
  return has_typed_form(op.inputs[0].tensor.element_type) ? check_axis(op, axis)
                                                          : check_f32_axis(op, axis);
}

template <bool kLargest>
Status make_arg(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const AlongAxis view = along_axis(op.inputs[0].tensor, Attributes(op).get_int("axis"));
  if (view.elements() == 0) return plugin::unimplemented("an extreme of nothing");
  if (view.axis > INT32_MAX) return plugin::unimplemented("so long an axis");
  switch (op.inputs[0].tensor.element_type) {
    case plugin::kF64:
      *kernel = std::make_unique<TypedArgExtreme<kLargest, double>>(op, view, isa);
      break;
    case plugin::kI64:
      *kernel = std::make_unique<TypedArgExtreme<kLargest, std::int64_t>>(op, view, isa);
      break;
    case plugin::kI32:
      *kernel = std::make_unique<TypedArgExtreme<kLargest, std::int32_t>>(op, view, isa);
      break;
    case plugin::kI8:
      *kernel = std::make_unique<TypedArgExtreme<kLargest, std::int8_t>>(op, view, isa);
      break;
    case plugin::kU8:
      *kernel = std::make_unique<TypedArgExtreme<kLargest, std::uint8_t>>(op, view, isa);
      break;
    default: *kernel = std::make_unique<ArgExtreme<kLargest>>(op, isa); break;
  }
  return plugin::ok();
}

// ---- Hardmax ------------------------------------------------------------------------------------

/// Ones at the first extremes of lines, among zeros.
class Hardmax : public Kernel {
 public:
  Hardmax(const sluice_op& op, const AlongAxis& view, Isa isa)
      : Kernel(op),
        view_(view),
        run_reduce_(SLUICE_CPU_PICK(isa, run_reduce)),
        find_equal_(SLUICE_CPU_PICK(isa, find_equal)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(view_.outer, 1, worker);
    const std::int64_t slab = view_.axis * view_.inner;
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const float* x = run.input<float>(0) + i * slab;
      float* y = run.output<float>(0) + i * slab;
      view_.inner == 1 ? mark_row(x, y) : mark_columns(x, y);
    }
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {view_.outer, view_.axis, view_.inner, sizeof(float)});
    extents.writes(0, {view_.outer, view_.axis, view_.inner, sizeof(float)});
  }
  double cost_ns() const override { return static_cast<double>(view_.elements()) * 0.2; }

 private:
  void mark_row(const float* x, float* y) const {
    float extreme = 0;
    run_reduce_({1, view_.axis, 1, ReduceKind::kMax}, x, &extreme, Worker{});
    const std::int64_t place = find_equal_(x, view_.axis, extreme, false);
    std::fill_n(y, view_.axis, 0.0F);
    y[place] = 1;
  }

  /// Finds the extreme of each column first, which `y` holds until its place is found.
  void mark_columns(const float* x, float* y) const {
    const std::int64_t n = view_.inner;
    run_reduce_({1, view_.axis, n, ReduceKind::kMax}, x, y, Worker{});
    for (std::int64_t c = 0; c < n; ++c) {
      const float extreme = y[c];
      const auto is_there = [&](float value) {
        return value == extreme || (value != value && extreme != extreme);
      };
      std::int64_t k = 0;
      while (!is_there(x[k * n + c])) ++k;
      for (std::int64_t i = 0; i < view_.axis; ++i) y[i * n + c] = i == k ? 1.0F : 0.0F;
    }
  }

  AlongAxis view_;
  decltype(&portable::run_reduce) run_reduce_;
  decltype(&portable::find_equal) find_equal_;
};

std::int64_t hardmax_axis(const sluice_op& op) {
  return Attributes(op).get_int("axis", op.version < 13 ? 1 : -1);
}

Status check_hardmax(const sluice_op& op) { return check_f32_axis(op, hardmax_axis(op)); }

Status make_hardmax(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  AlongAxis view = along_axis(op.inputs[0].tensor, hardmax_axis(op));
  if (view.elements() == 0) return plugin::unimplemented("an extreme of nothing");
  // Older versions flatten all dimensions from the axis on.
  if (op.version < 13) view = {view.outer, view.axis * view.inner, 1};
  *kernel = std::make_unique<Hardmax>(op, view, isa);
  return plugin::ok();
}

// ---- TopK ---------------------------------------------------------------------------------------

std::int64_t top_k_axis(const sluice_op& op) { return Attributes(op).get_int("axis", -1); }

template <typename T>
class TopK : public Kernel {
 public:
  TopK(const sluice_op& op, Isa isa)
      : Kernel(op),
        find_beyond_(SLUICE_CPU_PICK(isa, find_beyond)),
        view_(along_axis(op.inputs[0].tensor, top_k_axis(op))),
        k_(along_axis(op.outputs[0].tensor, top_k_axis(op)).axis),
        is_largest_(Attributes(op).get_int("largest", 1) != 0) {}

  std::int64_t scratch_bytes() const override {
    return view_.axis * static_cast<std::int64_t>(sizeof(Candidate) +
                                                  (view_.inner == 1 ? 0 : widest() * sizeof(T)));
  }

  void run(const Run& run, int, const Worker& worker) const override {
    if (k_ == 0) return;
    const std::int64_t width = width_for(worker.count);
    const std::int64_t strips = (view_.inner + width - 1) / width;
    const Share share = share_of(view_.outer * strips, 1, worker);
    auto* candidates = reinterpret_cast<Candidate*>(worker.scratch);
    auto* lines = reinterpret_cast<T*>(candidates + view_.axis);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t outer = i / strips;
      const std::int64_t first = i % strips * width;
      const std::int64_t columns = std::min(width, view_.inner - first);
      const T* x = run.input<T>(0) + outer * view_.axis * view_.inner + first;
      if (view_.inner > 1) gather_lines(x, columns, lines);
      for (std::int64_t c = 0; c < columns; ++c) {
        choose(view_.inner == 1 ? x : lines + c * view_.axis, candidates);
        const std::int64_t to = outer * k_ * view_.inner + first + c;
        for (std::int64_t k = 0; k < k_; ++k) {
          run.output<T>(0)[to + k * view_.inner] = candidates[k].value;
          run.output<std::int64_t>(1)[to + k * view_.inner] = candidates[k].place;
        }
      }
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {view_.outer, view_.axis, view_.inner, sizeof(T)});
    extents.writes(0, {view_.outer, k_, view_.inner, sizeof(T)});
    extents.writes(1, {view_.outer, k_, view_.inner, sizeof(std::int64_t)});
  }
  double cost_ns() const override {
    return static_cast<double>(view_.elements()) * (k_ <= kFew ? 1 : 5);
  }

 private:
  struct Candidate {
    T value;
    std::int64_t place;
  };

  /// Neighbouring columns, a cache line of floats, that become lines in scratch.
  static constexpr std::int64_t kStrip = 16;
  /// Candidates that are kept in order while the others pass.
  static constexpr std::int64_t kFew = 64;

  std::int64_t widest() const { return std::min(kStrip, view_.inner); }

  /// Narrower strips where wide ones leave workers without any.
  std::int64_t width_for(int workers) const {
    std::int64_t width = std::max<std::int64_t>(1, widest());
    while (width > 1 && view_.outer * ((view_.inner + width - 1) / width) < workers) width /= 2;
    return width;
  }

  void gather_lines(const T* x, std::int64_t columns, T* lines) const {
    for (std::int64_t k = 0; k < view_.axis; ++k, x += view_.inner) {
      for (std::int64_t c = 0; c < columns; ++c) lines[c * view_.axis + k] = x[c];
    }
  }

  /// The candidates of one line, in order.
  void choose(const T* line, Candidate* candidates) const {
    if (k_ <= kFew) {
      is_largest_ ? select<true>(line, candidates) : select<false>(line, candidates);
    } else if (std::is_same_v<T, float> && view_.axis <= UINT32_MAX) {
      is_largest_ ? select_many<true>(line, candidates) : select_many<false>(line, candidates);
    } else {
      for (std::int64_t i = 0; i < view_.axis; ++i) candidates[i] = {line[i], i};
      is_largest_ ? sort<true>(candidates) : sort<false>(candidates);
    }
  }

  /// Keeps the first of equal elements, in their order: a later one must lead to enter.
  template <bool kLargest>
  void select(const T* x, Candidate* kept) const {
    for (std::int64_t i = 0; i < k_; ++i) insert<kLargest>(x[i], i, i, kept);
    for (std::int64_t i = k_; i < view_.axis;) {
      if constexpr (std::is_same_v<T, float>) {
        i = find_beyond_(x, i, view_.axis, kept[k_ - 1].value, kLargest);
      }
      const std::int64_t end = std::min(i + kBeyondStep, view_.axis);
      for (; i < end; ++i) {
        if (leads<kLargest, T>(x[i], kept[k_ - 1].value)) insert<kLargest>(x[i], i, k_ - 1, kept);
      }
    }
  }

  /// Puts a value among the first `count` candidates; what was at `count` is overwritten.
  template <bool kLargest>
  static void insert(T value, std::int64_t place, std::int64_t count, Candidate* kept) {
    std::int64_t at = count;
    for (; at > 0 && leads<kLargest, T>(value, kept[at - 1].value); --at) kept[at] = kept[at - 1];
    kept[at] = {value, place};
  }

  /// A number that is larger the earlier a float goes: its bits in their order, with the sign
  /// turned, then its place. All NaNs are alike, and so are both zeros.
  template <bool kLargest>
  static std::uint64_t key_of(float value, std::int64_t place) {
    const auto bits = value == 0 ? 0U : std::bit_cast<std::uint32_t>(value);
    const std::uint32_t ascending = bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
    const std::uint32_t ordered = value != value ? UINT32_MAX : ascending;
    return std::uint64_t{kLargest ? ordered : ~ordered} << 32 |
           (UINT32_MAX - static_cast<std::uint32_t>(place));
  }
  static std::int64_t place_of(std::uint64_t key) {
    return std::int64_t{UINT32_MAX} - static_cast<std::int64_t>(key & UINT32_MAX);
  }

  /// Keeps up to four times as many keys as are wanted, then drops those behind the last wanted
  /// one, which later elements must lead to enter. The keys and then the candidates, which are as
  /// large as two keys and as many as are wanted, share `candidates`.
  template <bool kLargest>
  void select_many(const T* x, Candidate* candidates) const {
    auto* keys = reinterpret_cast<std::uint64_t*>(candidates) + view_.axis;
    const std::int64_t room = std::min(view_.axis, std::max<std::int64_t>(4 * k_, 1024));
    std::int64_t count = 0;
    std::uint64_t least = 0;
    const auto drop = [&] {
      std::nth_element(keys, keys + k_ - 1, keys + count, std::greater<>());
      count = k_;
      least = keys[k_ - 1];
    };
    for (std::int64_t i = 0; i < view_.axis;) {
      if constexpr (std::is_same_v<T, float>) {
        if (least != 0) {
          i = find_beyond_(x, i, view_.axis, x[place_of(least)], kLargest);
        }
      }
      const std::int64_t end = std::min(i + kBeyondStep, view_.axis);
      for (; i < end; ++i) {
        const std::uint64_t key = key_of<kLargest>(static_cast<float>(x[i]), i);
        if (key <= least) continue;
        keys[count++] = key;
        if (count == room) drop();
      }
    }
    if (count > k_) drop();
    std::sort(keys, keys + k_, std::greater<>());
    for (std::int64_t i = 0; i < k_; ++i) {
      const std::int64_t place = place_of(keys[i]);
      candidates[i] = {x[place], place};
    }
  }

  /// Keeps the first of equal elements, in their order.
  template <bool kLargest>
  void sort(Candidate* all) const {
    const auto goes_first = [](const Candidate& a, const Candidate& b) {
      return leads<kLargest, T>(a.value, b.value) ||
             (!leads<kLargest, T>(b.value, a.value) && a.place < b.place);
    };
    std::nth_element(all, all + k_ - 1, all + view_.axis, goes_first);
    std::sort(all, all + k_, goes_first);
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
  const sluice_element_type type = op.inputs[0].tensor.element_type;
  const bool has_form =
      type == plugin::kF32 || type == plugin::kF64 || type == plugin::kI64 || type == plugin::kI32;
  if (!has_form || op.outputs[0].tensor.element_type != type) {
    return plugin::unimplemented("no form for the type");
  }
  return check_axis(op, top_k_axis(op));
}

Status make_top_k(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const AlongAxis in = along_axis(op.inputs[0].tensor, top_k_axis(op));
  const AlongAxis out = along_axis(op.outputs[0].tensor, top_k_axis(op));
  if (in.elements() == 0 || out.axis > in.axis || out.outer != in.outer || out.inner != in.inner) {
    return plugin::unimplemented("shapes that do not fit");
  }
  switch (op.inputs[0].tensor.element_type) {
    case plugin::kF64: *kernel = std::make_unique<TopK<double>>(op, isa); break;
    case plugin::kI64: *kernel = std::make_unique<TopK<std::int64_t>>(op, isa); break;
    case plugin::kI32: *kernel = std::make_unique<TopK<std::int32_t>>(op, isa); break;
    default: *kernel = std::make_unique<TopK<float>>(op, isa); break;
  }
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> select_entries() {
  return {{.kind = "ArgMax", .check = check_arg, .make = make_arg<true>},
          {.kind = "ArgMin", .check = check_arg, .make = make_arg<false>},
          {.kind = "Hardmax", .check = check_hardmax, .make = make_hardmax},
          {.kind = "TopK", .check = check_top_k, .make = make_top_k}};
}

}  // namespace sluice::cpu
