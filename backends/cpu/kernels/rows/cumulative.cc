#include "kernels/rows/cumulative.h"

#include "core/simd.h"
#include "kernels/elements/numbers.h"
#include "kernels/rows/row_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr std::int64_t kLines = 8;  ///< rows side by side, to hide the latency of a sum

template <typename T>
using TotalOf = std::conditional_t<kIsFloat<T>, double, WrapOf<T>>;

using Doubles = double __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));

/// A vector of elements. (GCC takes no vectors of dependent types.)
template <typename T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Part = Vec;
};
template <>
struct VectorOf<double> {
  using Part = Doubles;
};
template <>
struct VectorOf<std::uint32_t> {
  using Part = std::uint32_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
};
template <>
struct VectorOf<std::uint64_t> {
  using Part = std::uint64_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
};

/// Neighbouring columns whose totals fill half of the registers.
template <typename T>
struct Strip : VectorOf<T> {
  static constexpr std::int64_t kEach = SLUICE_CPU_VECTOR_BYTES / sizeof(T);
  static constexpr int kParts = kVectorRegisters / 2;
  static constexpr std::int64_t kColumns = kParts * kEach;
};

/// Rows that a strip asks for before it needs them: they are too far apart for the processor to
/// expect them.
constexpr std::int64_t kAhead = 8;

/// Sums of a strip, whose totals stay in registers.
template <bool kIsExclusive, typename T>
SLUICE_CPU_INLINE void sum_strip(const CumulativePlan& plan, const T* x, T* y) {
  const std::int64_t step = plan.is_reversed ? -plan.inner : plan.inner;
  std::int64_t at = plan.is_reversed ? (plan.axis - 1) * plan.inner : 0;
  typename Strip<T>::Part totals[Strip<T>::kParts] = {};
  for (std::int64_t left = plan.axis; left > 0; --left, at += step) {
    if (left > kAhead) {
      constexpr std::int64_t kLine = 64 / sizeof(T);
      SLUICE_CPU_UNROLL
      for (int c = 0; c < Strip<T>::kColumns; c += kLine) prefetch(x + at + kAhead * step + c);
    }
    SLUICE_CPU_UNROLL
    for (int p = 0; p < Strip<T>::kParts; ++p) {
      const std::int64_t place = at + p * Strip<T>::kEach;
      typename Strip<T>::Part part;
      __builtin_memcpy(&part, x + place, sizeof part);
      const typename Strip<T>::Part before = totals[p];
      totals[p] = before + part;
      __builtin_memcpy(y + place, kIsExclusive ? &before : &totals[p], sizeof part);
    }
  }
}

/// Adds `rows` numbers to each of `count` totals: number k of total c is x[k * step + c * next].
template <bool kIsExclusive, typename T>
SLUICE_CPU_INLINE void add_lines(const T* x, T* y, std::int64_t rows, std::int64_t step,
                                 std::int64_t next, std::int64_t count, TotalOf<T>* totals) {
  for (std::int64_t k = 0; k < rows; ++k) {
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int64_t at = k * step + c * next;
      const TotalOf<T> before = totals[c];
      totals[c] = before + static_cast<TotalOf<T>>(x[at]);
      y[at] = static_cast<T>(kIsExclusive ? before : totals[c]);
    }
  }
}

/// At most a strip's number of sums side by side, of lines that are `next` apart.
template <bool kIsExclusive, typename T>
SLUICE_CPU_INLINE void sum_lines(const CumulativePlan& plan, const T* x, T* y, std::int64_t step,
                                 std::int64_t next, std::int64_t count) {
  TotalOf<T> totals[Strip<T>::kColumns] = {};
  const std::int64_t first = plan.is_reversed ? (plan.axis - 1) * step : 0;
  add_lines<kIsExclusive>(x + first, y + first, plan.axis, plan.is_reversed ? -step : step, next,
                          count, totals);
}

/// Along another axis than the last.
template <bool kIsExclusive, typename T>
void sum_all_strips(const CumulativePlan& plan, const T* x, T* y, const Worker& worker) {
  constexpr std::int64_t kWidth = Strip<T>::kColumns;
  const std::int64_t strips = (plan.inner + kWidth - 1) / kWidth;
  const Share share = share_of(plan.outer * strips, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    const std::int64_t first = i % strips * kWidth;
    const std::int64_t left = plan.inner - first;
    const std::int64_t at = i / strips * plan.axis * plan.inner + first;
    if (left >= kWidth) {
      sum_strip<kIsExclusive>(plan, x + at, y + at);
    } else {
      sum_lines<kIsExclusive>(plan, x + at, y + at, plan.inner, 1, left);
    }
  }
}

// ---- floats along another axis than the last ----------------------------------------------------
// Totals are doubles, but a conversion takes longer than several additions. So sums of a few rows
// are made in floats, and are converted once per kRowsTogether.

constexpr int kRowsTogether = 4;
/// Columns whose totals lie in the nearest cache beside the rows.
constexpr std::int64_t kMostColumns = 1024;

struct WideTotals {
  Doubles low;
  Doubles high;
};

#if defined(__AVX512F__)
SLUICE_CPU_INLINE WideTotals widened(Vec x) {
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
          _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}
SLUICE_CPU_INLINE Vec narrowed(const WideTotals& totals) {
  const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps(totals.low));
  return _mm512_insertf32x8(low, _mm512_cvtpd_ps(totals.high), 1);
}
#elif defined(__AVX2__)
SLUICE_CPU_INLINE WideTotals widened(Vec x) {
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}
SLUICE_CPU_INLINE Vec narrowed(const WideTotals& totals) {
  return _mm256_set_m128(_mm256_cvtpd_ps(totals.high), _mm256_cvtpd_ps(totals.low));
}
#else
constexpr int kDoubles = kLanes / 2;

SLUICE_CPU_INLINE WideTotals widened(Vec x) {
  WideTotals totals;
  for (int i = 0; i < kDoubles; ++i) {
    totals.low[i] = static_cast<double>(x[i]);
    totals.high[i] = static_cast<double>(x[kDoubles + i]);
  }
  return totals;
}
SLUICE_CPU_INLINE Vec narrowed(const WideTotals& totals) {
  Vec x;
  for (int i = 0; i < kDoubles; ++i) {
    x[i] = static_cast<float>(totals.low[i]);
    x[kDoubles + i] = static_cast<float>(totals.high[i]);
  }
  return x;
}
#endif

SLUICE_CPU_INLINE WideTotals load_totals(const double* totals) {
  WideTotals wide;
  __builtin_memcpy(&wide.low, totals, sizeof wide.low);
  __builtin_memcpy(&wide.high, totals + kLanes / 2, sizeof wide.high);
  return wide;
}
SLUICE_CPU_INLINE void store_totals(double* totals, const WideTotals& wide) {
  __builtin_memcpy(totals, &wide.low, sizeof wide.low);
  __builtin_memcpy(totals + kLanes / 2, &wide.high, sizeof wide.high);
}

/// kRows rows of a vector of columns, of which `lanes` exist. `totals` has room for all lanes; null
/// where these rows are all.
template <bool kIsExclusive, int kRows>
SLUICE_CPU_INLINE void sum_columns(const float* x, float* y, std::int64_t step, int lanes,
                                   double* totals) {
  Vec sums[kRows];
  Vec sum = {};
  SLUICE_CPU_UNROLL
  for (int r = 0; r < kRows; ++r) {
    if (kIsExclusive) sums[r] = sum;
    sum += lanes == kLanes ? load(x + r * step) : load_first(x + r * step, lanes);
    if (!kIsExclusive) sums[r] = sum;
  }
  WideTotals wide = {};
  if (totals != nullptr) wide = load_totals(totals);
  const Vec base = narrowed(wide);
  if (any(~(is_finite(sum) &
            is_finite(base)))) {  // a float leaves its range where a double does not
    double none[kLanes] = {};
    double* before = totals == nullptr ? none : totals;
    return add_lines<kIsExclusive>(x, y, kRows, step, 1, lanes, before);
  }
  SLUICE_CPU_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const Vec written = base + sums[r];
    lanes == kLanes ? store(y + r * step, written) : store_first(y + r * step, written, lanes);
  }
  if (totals == nullptr) return;
  const WideTotals added = widened(sum);
  store_totals(totals, {wide.low + added.low, wide.high + added.high});
}

template <bool kIsExclusive, int kRows>
SLUICE_CPU_INLINE void sum_rows(const float* x, float* y, std::int64_t step, std::int64_t columns,
                                double* totals) {
  const auto at = [&](std::int64_t c) { return totals == nullptr ? nullptr : totals + c; };
  std::int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
    sum_columns<kIsExclusive, kRows>(x + c, y + c, step, kLanes, at(c));
  }
  if (c == columns) return;
  const int lanes = static_cast<int>(columns - c);
  sum_columns<kIsExclusive, kRows>(x + c, y + c, step, lanes, at(c));
}

/// `rows` at a time, at most kRowsTogether.
template <bool kIsExclusive>
SLUICE_CPU_INLINE void sum_some_rows(std::int64_t rows, const float* x, float* y, std::int64_t step,
                                     std::int64_t columns, double* totals) {
  switch (rows) {
    case 0: return;
    case 1: return sum_rows<kIsExclusive, 1>(x, y, step, columns, totals);
    case 2: return sum_rows<kIsExclusive, 2>(x, y, step, columns, totals);
    case 3: return sum_rows<kIsExclusive, 3>(x, y, step, columns, totals);
    default: return sum_rows<kIsExclusive, kRowsTogether>(x, y, step, columns, totals);
  }
}

/// Sums of at most kMostColumns neighbouring columns.
template <bool kIsExclusive>
SLUICE_CPU_INLINE void sum_floats(const CumulativePlan& plan, const float* x, float* y,
                                  std::int64_t columns) {
  const std::int64_t step = plan.is_reversed ? -plan.inner : plan.inner;
  std::int64_t at = plan.is_reversed ? (plan.axis - 1) * plan.inner : 0;
  if (plan.axis <= kRowsTogether) {
    return sum_some_rows<kIsExclusive>(plan.axis, x + at, y + at, step, columns, nullptr);
  }
  double totals[kMostColumns];
  const std::int64_t used = (columns + kLanes - 1) / kLanes * kLanes;
  for (std::int64_t c = 0; c < used; ++c) totals[c] = 0;
  for (std::int64_t left = plan.axis; left > 0; left -= kRowsTogether) {
    const std::int64_t rows = left < kRowsTogether ? left : kRowsTogether;
    sum_some_rows<kIsExclusive>(rows, x + at, y + at, step, columns, totals);
    at += rows * step;
  }
}

/// Columns of a strip where there are few tensors for the workers.
constexpr std::int64_t kSharedColumns = 128;

template <bool kIsExclusive>
void sum_all_floats(const CumulativePlan& plan, const float* x, float* y, const Worker& worker) {
  const bool is_shared = worker.count > 1 && plan.outer < 4 * worker.count;
  const std::int64_t width = is_shared ? kSharedColumns : kMostColumns;
  const std::int64_t strips = (plan.inner + width - 1) / width;
  const Share share = share_of(plan.outer * strips, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    const std::int64_t first = i % strips * width;
    const std::int64_t left = plan.inner - first;
    const std::int64_t at = i / strips * plan.axis * plan.inner + first;
    sum_floats<kIsExclusive>(plan, x + at, y + at, left < width ? left : width);
  }
}

// ---- all of it ----------------------------------------------------------------------------------

template <bool kIsExclusive, typename T>
void sum_all(const CumulativePlan& plan, const T* x, T* y, const Worker& worker) {
  if (plan.inner == 1) {
    const Share share = share_of(plan.outer, kLines, worker);
    for (std::int64_t o = share.begin; o < share.end; o += kLines) {
      const std::int64_t at = o * plan.axis;
      if (share.end - o >= kLines) {
        sum_lines<kIsExclusive>(plan, x + at, y + at, 1, plan.axis, kLines);
      } else {
        sum_lines<kIsExclusive>(plan, x + at, y + at, 1, plan.axis, share.end - o);
      }
    }
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    sum_all_floats<kIsExclusive>(plan, x, y, worker);
  } else {
    sum_all_strips<kIsExclusive>(plan, x, y, worker);
  }
}

template <typename T>
void of_type(const CumulativePlan& plan, const void* x_data, void* y_data, const Worker& worker) {
  const auto* x = static_cast<const T*>(x_data);
  auto* y = static_cast<T*>(y_data);
  if (plan.is_exclusive) return sum_all<true>(plan, x, y, worker);
  sum_all<false>(plan, x, y, worker);
}

}  // namespace

void run_cumulative(const CumulativePlan& plan, Number type, const void* x, void* y,
                    const Worker& worker) {
  switch (type) {
    case Number::kU32:
    case Number::kI32: return of_type<std::uint32_t>(plan, x, y, worker);
    case Number::kU64:
    case Number::kI64: return of_type<std::uint64_t>(plan, x, y, worker);
    case Number::kF64: return of_type<double>(plan, x, y, worker);
    default: return of_type<float>(plan, x, y, worker);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
