#include "kernels/rows/cumulative.h"

#include "core/simd.h"
#include "kernels/elements/numbers.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr std::int64_t kStrip = 128;  ///< neighbouring columns, so that memory is read in order
constexpr std::int64_t kLines = 8;    ///< rows side by side, to hide the latency of a sum

template <typename T>
using TotalOf = std::conditional_t<kIsFloat<T>, double, WrapOf<T>>;

/// `count` sums side by side: sum c is of x[k * step + c * next] for all k.
template <bool kIsExclusive, typename T>
SLUICE_CPU_INLINE void sum_lines(const CumulativePlan& plan, const T* x, T* y, std::int64_t step,
                                 std::int64_t next, std::int64_t count) {
  TotalOf<T> totals[kStrip] = {};
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
  const std::int64_t strips = (plan.inner + kStrip - 1) / kStrip;
  const Share share = share_of(plan.outer * strips, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    const std::int64_t first = i % strips * kStrip;
    const std::int64_t left = plan.inner - first;
    const std::int64_t at = i / strips * plan.axis * plan.inner + first;
    sum_lines<kIsExclusive>(plan, x + at, y + at, plan.inner, 1, left < kStrip ? left : kStrip);
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
