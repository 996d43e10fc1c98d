#include "kernels/rows/cumulative.h"

#include "core/simd.h"
#include "kernels/elements/numbers.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr std::int64_t kLines = 8;  ///< rows side by side, to hide the latency of a sum

template <typename T>
using TotalOf = std::conditional_t<kIsFloat<T>, double, WrapOf<T>>;

/// A vector of totals, and as many elements. (GCC takes no vectors of dependent types.)
template <typename T>
struct VectorsOf;
template <>
struct VectorsOf<float> {
  using Totals = double __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
  using Part = float __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES / 2)));
};
template <>
struct VectorsOf<double> {
  using Totals = double __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
  using Part = Totals;
};
template <>
struct VectorsOf<std::uint32_t> {
  using Totals = std::uint32_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
  using Part = Totals;
};
template <>
struct VectorsOf<std::uint64_t> {
  using Totals = std::uint64_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
  using Part = Totals;
};

/// Neighbouring columns whose totals fill half of the registers.
template <typename T>
struct Strip : VectorsOf<T> {
  static constexpr std::int64_t kEach = SLUICE_CPU_VECTOR_BYTES / sizeof(TotalOf<T>);
  static constexpr int kParts = kVectorRegisters / 2;
  static constexpr std::int64_t kColumns = kParts * kEach;
};

template <typename T>
SLUICE_CPU_INLINE typename VectorsOf<T>::Totals widened(typename VectorsOf<T>::Part part) {
  if constexpr (sizeof(T) == sizeof(TotalOf<T>)) return part;
#if defined(__AVX512F__)  // the compiler widens halves of it and joins them
  if constexpr (sizeof(T) < sizeof(TotalOf<T>)) return _mm512_cvtps_pd(part);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) < sizeof(TotalOf<T>)) return _mm256_cvtps_pd(part);
#endif
  return __builtin_convertvector(part, typename VectorsOf<T>::Totals);
}

/// Rows that a strip asks for before it needs them: they are too far apart for the processor to
/// expect them.
constexpr std::int64_t kAhead = 8;

/// Sums of a strip, whose totals stay in registers.
template <bool kIsExclusive, typename T>
SLUICE_CPU_INLINE void sum_strip(const CumulativePlan& plan, const T* x, T* y) {
  const std::int64_t step = plan.is_reversed ? -plan.inner : plan.inner;
  std::int64_t at = plan.is_reversed ? (plan.axis - 1) * plan.inner : 0;
  typename Strip<T>::Totals totals[Strip<T>::kParts] = {};
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
      const typename Strip<T>::Totals before = totals[p];
      totals[p] = before + widened<T>(part);
      const typename Strip<T>::Totals written = kIsExclusive ? before : totals[p];
      part = __builtin_convertvector(written, typename Strip<T>::Part);
      __builtin_memcpy(y + place, &part, sizeof part);
    }
  }
}

/// At most a strip's number of sums side by side: sum c is of x[k * step + c * next] for all k.
template <bool kIsExclusive, typename T>
SLUICE_CPU_INLINE void sum_lines(const CumulativePlan& plan, const T* x, T* y, std::int64_t step,
                                 std::int64_t next, std::int64_t count) {
  TotalOf<T> totals[Strip<T>::kColumns] = {};
  for (std::int64_t k = 0; k < plan.axis; ++k) {
    const std::int64_t at = (plan.is_reversed ? plan.axis - 1 - k : k) * step;
    for (std::int64_t c = 0; c < count; ++c) {
      const TotalOf<T> before = totals[c];
      totals[c] = before + static_cast<TotalOf<T>>(x[at + c * next]);
      y[at + c * next] = static_cast<T>(kIsExclusive ? before : totals[c]);
    }
  }
}

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
