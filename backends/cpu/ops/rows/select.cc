// The largest or smallest elements along an axis: ArgMax, ArgMin, Hardmax, TopK.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/rows/places.h"
#include "kernels/rows/top_k.h"
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

class Places : public Kernel {
 public:
  Places(const sluice_op& op, const PlacesPlan& plan, Isa isa)
      : Kernel(op),
        plan_(plan),
        type_(*number_of(op.inputs[0].tensor.element_type)),
        run_places_(SLUICE_CPU_PICK(isa, run_places)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    run_places_(plan_, type_, run.input<void>(0), run.output<std::int64_t>(0), worker);
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {plan_.outer, plan_.axis, plan_.inner, element_bytes(op().inputs[0].tensor)});
    extents.writes(0, {plan_.outer, plan_.inner, sizeof(std::int64_t)});
  }
  double cost_ns() const override {
    return static_cast<double>(plan_.outer * plan_.axis * plan_.inner) * 0.3;
  }

 private:
  PlacesPlan plan_;
  Number type_;
  decltype(&portable::run_places) run_places_;
};

Status check_arg(const sluice_op& op) {
  if (op.outputs[0].tensor.element_type != plugin::kI64) return plugin::unimplemented("not i64");
  const auto type = number_of(op.inputs[0].tensor.element_type);
  if (!type || !has_places(*type)) return plugin::unimplemented("no form for the type");
  return check_axis(op, Attributes(op).get_int("axis"));
}

/// `unimplemented` if there are none, or an axis is longer than places can say.
Status plan_places(const AlongAxis& view, PlacesPlan* plan) {
  if (view.elements() == 0) return plugin::unimplemented("an extreme of nothing");
  if (view.axis > INT32_MAX) return plugin::unimplemented("so long an axis");
  *plan = {view.outer, view.axis, view.inner};
  return plugin::ok();
}

template <bool kLargest>
Status make_arg(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  PlacesPlan plan;
  const AlongAxis view = along_axis(op.inputs[0].tensor, Attributes(op).get_int("axis"));
  if (Status status = plan_places(view, &plan); !status.is_ok()) return status;
  plan.is_largest = kLargest;
  plan.takes_last = Attributes(op).get_int("select_last_index") != 0;
  *kernel = std::make_unique<Places>(op, plan, isa);
  return plugin::ok();
}

// ---- Hardmax ------------------------------------------------------------------------------------

/// Ones at the first extremes of lines, among zeros. The second phase marks the places that the
/// first one finds.
class Hardmax : public Kernel {
 public:
  Hardmax(const sluice_op& op, const PlacesPlan& plan, Isa isa)
      : Kernel(op), plan_(plan), run_places_(SLUICE_CPU_PICK(isa, run_places)) {}

  int phases() const override { return 2; }
  std::int64_t shared_bytes() const override {
    return plan_.outer * plan_.inner * static_cast<std::int64_t>(sizeof(std::int64_t));
  }
  void run(const Run& run, int phase, const Worker& worker) const override {
    auto* places = reinterpret_cast<std::int64_t*>(run.shared());
    if (phase == 0) {
      return run_places_(plan_, Number::kF32, run.input<void>(0), places, worker);
    }
    const std::int64_t n = plan_.inner;
    const std::int64_t strips = (n + kStrip - 1) / kStrip;
    const Share share = share_of(plan_.outer * strips, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t first = i % strips * kStrip;
      const std::int64_t columns = std::min(kStrip, n - first);
      float* y = run.output<float>(0) + i / strips * plan_.axis * n + first;
      const std::int64_t* strip = places + i / strips * n + first;
      if (n == 1) std::fill_n(y, plan_.axis, 0.0F);
      for (std::int64_t k = 0; n > 1 && k < plan_.axis; ++k) std::fill_n(y + k * n, columns, 0.0F);
      for (std::int64_t c = 0; c < columns; ++c) y[strip[c] * n + c] = 1;
    }
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {plan_.outer, plan_.axis, plan_.inner, sizeof(float)});
    extents.writes(0, {plan_.outer, plan_.axis, plan_.inner, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(plan_.outer * plan_.axis * plan_.inner) * 0.2;
  }

 private:
  static constexpr std::int64_t kStrip = 256;  ///< columns that a worker marks together

  PlacesPlan plan_;
  decltype(&portable::run_places) run_places_;
};

std::int64_t hardmax_axis(const sluice_op& op) {
  return Attributes(op).get_int("axis", op.version < 13 ? 1 : -1);
}

Status check_hardmax(const sluice_op& op) { return check_f32_axis(op, hardmax_axis(op)); }

Status make_hardmax(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  AlongAxis view = along_axis(op.inputs[0].tensor, hardmax_axis(op));
  // Older versions flatten all dimensions from the axis on.
  if (op.version < 13) view = {view.outer, view.axis * view.inner, 1};
  PlacesPlan plan;
  if (Status status = plan_places(view, &plan); !status.is_ok()) return status;
  *kernel = std::make_unique<Hardmax>(op, plan, isa);
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
  const bool has_form = type == plugin::kF32 || type == plugin::kF64 || type == plugin::kI64 ||
                        type == plugin::kI32 || type == plugin::kI8 || type == plugin::kU8;
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
    case plugin::kI8: *kernel = std::make_unique<TopK<std::int8_t>>(op, isa); break;
    case plugin::kU8: *kernel = std::make_unique<TopK<std::uint8_t>>(op, isa); break;
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
