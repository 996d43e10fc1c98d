#include "kernels/rows/places.h"

#include "kernels/rows/number_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Whether the number `a` of a later place, or each lane of it, takes the place of `b`.
template <bool kLargest, bool kTakesLast, typename V>
SLUICE_CPU_INLINE auto takes_place(V a, V b) {
  const auto is_nan = a != a;
  if constexpr (kTakesLast) return (kLargest ? a >= b : a <= b) | is_nan;
  if constexpr (!kTakesLast) return (kLargest ? a > b : a < b) | (is_nan & (b == b));
}

/// Rows of so few numbers are looked at side by side, a row in each lane.
constexpr std::int64_t kShortRow = 32;

template <bool kLargest, bool kTakesLast, typename T>
SLUICE_CPU_INLINE void places_of_rows(const T* x, std::int64_t axis, std::int64_t* y) {
  using I = SignedOf<T>;
  VectorOf<T> best = column_of(x, axis);
  VectorOf<I> places = {};
  for (std::int64_t k = 1; k < axis; ++k) {
    const VectorOf<T> next = column_of(x + k, axis);
    const VectorOf<I> takes = takes_place<kLargest, kTakesLast>(next, best);
    best = takes ? next : best;
    places = takes ? all_of(static_cast<I>(k)) : places;
  }
  for (int lane = 0; lane < kLanesOf<T>; ++lane) y[lane] = places[lane];
}

template <bool kLargest, bool kTakesLast, typename T>
SLUICE_CPU_INLINE std::int64_t place_in_short_row(const T* x, std::int64_t axis) {
  std::int64_t place = 0;
  for (std::int64_t k = 1; k < axis; ++k) {
    if (takes_place<kLargest, kTakesLast>(x[k], x[place])) place = k;
  }
  return place;
}

/// Whether a lane of a mask is set, however narrow lanes are.
template <typename Mask>
SLUICE_CPU_INLINE bool any_lane(Mask mask) {
#if SLUICE_CPU_VECTOR_BYTES == 16 && defined(__SSE2__)
  return _mm_movemask_epi8((__m128i)mask) != 0;
#else
  return any((VecI)mask);
#endif
}

/// The first or last place of `value`, which is there; of a NaN, if it is one.
template <bool kIsLast, typename T>
std::int64_t find(const T* x, std::int64_t count, T value) {
  constexpr std::int64_t kWidth = kLanesOf<T>;
  constexpr std::int64_t kStep = 4 * kWidth;
  const bool is_nan = value != value;
  const auto is_it = [&](T other) { return is_nan ? other != other : other == value; };
  const auto holds = [&](const T* p) {
    VectorOf<SignedOf<T>> found = {};
    SLUICE_CPU_UNROLL
    for (int v = 0; v < 4; ++v) {
      const VectorOf<T> some = load_numbers(p + v * kWidth);
      found |= is_nan ? some != some : some == all_of(value);
    }
    return any_lane(found);
  };
  if constexpr (kIsLast) {
    std::int64_t end = count;
    while (end >= kStep && !holds(x + end - kStep)) end -= kStep;
    while (!is_it(x[end - 1])) --end;
    return end - 1;
  } else {
    std::int64_t i = 0;
    while (i + kStep <= count && !holds(x + i)) i += kStep;
    while (!is_it(x[i])) ++i;
    return i;
  }
}

template <bool kLargest, bool kTakesLast, typename T>
void run_rows(const PlacesPlan& plan, const T* x, std::int64_t* y, const Worker& worker) {
  const Share share = share_of(plan.outer, 1, worker);
  const std::int64_t n = plan.axis;
  std::int64_t row = share.begin;
  if (n > kShortRow) {
    for (; row < share.end; ++row) {
      y[row] = find<kTakesLast>(x + row * n, n, extreme_of<kLargest>(x + row * n, n));
    }
    return;
  }
  if constexpr (sizeof(T) >= 4) {
    for (; row + kLanesOf<T> <= share.end; row += kLanesOf<T>) {
      places_of_rows<kLargest, kTakesLast>(x + row * n, n, y + row);
    }
  }
  for (; row < share.end; ++row) {
    y[row] = place_in_short_row<kLargest, kTakesLast>(x + row * n, n);
  }
}

constexpr std::int64_t kStrip = 256;  ///< columns whose extremes and places stay in a cache

/// Neighbouring columns together, so that memory is read in order.
template <bool kLargest, bool kTakesLast, typename T>
void run_columns(const PlacesPlan& plan, const T* x, std::int64_t* y, const Worker& worker) {
  using I = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  const std::int64_t strips = (plan.inner + kStrip - 1) / kStrip;
  const Share share = share_of(plan.outer * strips, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    const std::int64_t first = i % strips * kStrip;
    const std::int64_t left = plan.inner - first;
    const std::int64_t columns = left < kStrip ? left : kStrip;
    const T* from = x + i / strips * plan.axis * plan.inner + first;
    T best[kStrip];
    I places[kStrip];
    for (std::int64_t c = 0; c < columns; ++c) best[c] = from[c];
    for (std::int64_t c = 0; c < columns; ++c) places[c] = 0;
    for (std::int64_t k = 1; k < plan.axis; ++k) {
      const T* row = from + k * plan.inner;
      const I place = static_cast<I>(k);
      for (std::int64_t c = 0; c < columns; ++c) {  // the compiler makes masks of it
        const T a = row[c];
        const T b = best[c];
        const bool takes = takes_place<kLargest, kTakesLast>(a, b) != 0;
        best[c] = takes ? a : b;
        places[c] = takes ? place : places[c];
      }
    }
    std::int64_t* to = y + i / strips * plan.inner + first;
    for (std::int64_t c = 0; c < columns; ++c) to[c] = places[c];
  }
}

template <bool kLargest, bool kTakesLast, typename T>
void run_kind(const PlacesPlan& plan, const T* x, std::int64_t* y, const Worker& worker) {
  plan.inner == 1 ? run_rows<kLargest, kTakesLast>(plan, x, y, worker)
                  : run_columns<kLargest, kTakesLast>(plan, x, y, worker);
}

template <typename T>
void run_type(const PlacesPlan& plan, const void* data, std::int64_t* y, const Worker& worker) {
  const auto* x = static_cast<const T*>(data);
  if (plan.is_largest) {
    plan.takes_last ? run_kind<true, true>(plan, x, y, worker)
                    : run_kind<true, false>(plan, x, y, worker);
  } else {
    plan.takes_last ? run_kind<false, true>(plan, x, y, worker)
                    : run_kind<false, false>(plan, x, y, worker);
  }
}

}  // namespace

void run_places(const PlacesPlan& plan, Number type, const void* x, std::int64_t* y,
                const Worker& worker) {
  switch (type) {
    case Number::kF32: return run_type<float>(plan, x, y, worker);
    case Number::kF64: return run_type<double>(plan, x, y, worker);
    case Number::kI64: return run_type<std::int64_t>(plan, x, y, worker);
    case Number::kI32: return run_type<std::int32_t>(plan, x, y, worker);
    case Number::kI8: return run_type<std::int8_t>(plan, x, y, worker);
    case Number::kU8: return run_type<std::uint8_t>(plan, x, y, worker);
    default: return;
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
