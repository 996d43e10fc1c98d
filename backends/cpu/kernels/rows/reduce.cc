#include "kernels/rows/reduce.h"

#include "kernels/rows/number_folds.h"
#include "kernels/rows/row_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr int kChains = 4;             ///< folds kept side by side, to hide the latency of one
constexpr std::int64_t kBlock = 4096;  ///< values summed in f32 before they join a total in double

template <ReduceKind kKind>
SLUICE_CPU_INLINE Vec prepare(Vec x) {
  if constexpr (kKind == ReduceKind::kSumOfSquares) return x * x;
  if constexpr (kKind == ReduceKind::kSumOfMagnitudes) return abs(x);
  return x;
}

template <ReduceKind kKind>
constexpr bool is_sum() {
  return kKind != ReduceKind::kMax && kKind != ReduceKind::kMin;
}

/// NaN wins, whichever side it is on.
template <ReduceKind kKind>
SLUICE_CPU_INLINE Vec fold(Vec a, Vec b) {
  if constexpr (is_sum<kKind>()) return a + b;
  const Vec chosen = kKind == ReduceKind::kMax ? max(a, b) : min(a, b);
  return select(a != a, a, chosen);
}

template <ReduceKind kKind>
SLUICE_CPU_INLINE Vec start() {
  if constexpr (is_sum<kKind>()) return Vec{};
  return broadcast(kKind == ReduceKind::kMax ? -__builtin_inff() : __builtin_inff());
}

template <ReduceKind kKind>
SLUICE_CPU_INLINE float across(Vec v) {
  if constexpr (is_sum<kKind>()) return reduce_add(v);
  if (any(v != v)) return __builtin_nanf("");
  return kKind == ReduceKind::kMax ? reduce_max(v) : reduce_min(v);
}

/// Folds up to kBlock neighbours.
template <ReduceKind kKind>
float fold_block(const float* x, std::int64_t count) {
  Vec acc[kChains];
  for (Vec& a : acc) a = start<kKind>();
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
    SLUICE_CPU_UNROLL
    for (int c = 0; c < kChains; ++c) {
      acc[c] = fold<kKind>(acc[c], prepare<kKind>(load(x + i + c * kLanes)));
    }
  }
  for (; i + kLanes <= count; i += kLanes)
    acc[0] = fold<kKind>(acc[0], prepare<kKind>(load(x + i)));
  if (i < count) {
    const int left = static_cast<int>(count - i);
    const Vec last = prepare<kKind>(load_first(x + i, left));
    acc[1] = fold<kKind>(acc[1], fill_behind(last, left, start<kKind>()[0]));
  }
  return across<kKind>(fold<kKind>(fold<kKind>(acc[0], acc[1]), fold<kKind>(acc[2], acc[3])));
}

template <ReduceKind kKind>
float fold_row(const float* x, std::int64_t count) {
  if constexpr (is_sum<kKind>()) {
    double total = 0;
    for (std::int64_t i = 0; i < count; i += kBlock) {
      total += fold_block<kKind>(x + i, count - i < kBlock ? count - i : kBlock);
    }
    return static_cast<float>(total);
  } else {
    return fold_block<kKind>(x, count);
  }
}

SLUICE_CPU_INLINE Vec finish(const ReducePlan& plan, Vec v) {
  const Vec scaled = v * broadcast(static_cast<float>(1.0 / plan.divisor));
  return plan.root ? sqrt(scaled) : scaled;
}

/// Where a part of the sum, or a square, left the range of floats: in double. The result of NaN and
/// infinities among the elements is the same.
template <ReduceKind kKind>
__attribute__((noinline, cold)) float fold_in_double(const ReducePlan& plan, const float* x,
                                                     std::int64_t stride) {
  double total = 0;
  for (std::int64_t r = 0; r < plan.axis; ++r) {
    const double v = static_cast<double>(x[r * stride]);
    if constexpr (kKind == ReduceKind::kSumOfSquares) {
      total += v * v;
    } else {
      total += kKind == ReduceKind::kSumOfMagnitudes ? __builtin_fabs(v) : v;
    }
  }
  total /= plan.divisor;
  return static_cast<float>(plan.root ? __builtin_sqrt(total) : total);
}

/// Whether a sum, not finished yet, may be wrong.
template <ReduceKind kKind>
SLUICE_CPU_INLINE bool is_doubtful(const ReducePlan& plan, float sum) {
  if constexpr (!is_sum<kKind>()) return false;
  return !(__builtin_fabsf(sum) < __builtin_inff()) || (plan.root && sum < 1e-30f);
}

/// The same of lanes.
template <ReduceKind kKind>
SLUICE_CPU_INLINE VecI are_doubtful(const ReducePlan& plan, Vec sum) {
  if constexpr (!is_sum<kKind>()) return VecI{};
  VecI doubtful = ~is_finite(sum);
  // Only a root makes squares visible again that vanished.
  if (plan.root) doubtful |= sum < broadcast(1e-30f);
  return doubtful;
}

/// Columns that are folded side by side: as many as fill the lines of the cache that they touch,
/// which the processor fetches in pairs.
constexpr int kStripVectors = 128 / static_cast<int>(sizeof(Vec));

/// Folds neighbouring columns down `axis` rows, kVectors vectors of which the last has `lanes`, and
/// writes what they come to.
template <ReduceKind kKind, int kVectors>
void fold_columns(const ReducePlan& plan, const float* x, int lanes, float* y) {
  Vec acc[kVectors];
  for (Vec& a : acc) a = start<kKind>();
  for (std::int64_t r = 0; r < plan.axis; ++r) {
    const float* at = x + r * plan.inner;
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const float* p = at + v * kLanes;
      acc[v] =
          fold<kKind>(acc[v], prepare<kKind>(v < kVectors - 1 ? load(p) : load_first(p, lanes)));
    }
  }
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int some = v < kVectors - 1 ? kLanes : lanes;
    store_first(y + v * kLanes, finish(plan, acc[v]), some);
    const VecI doubtful = are_doubtful<kKind>(plan, acc[v]);
    if (!any(doubtful)) continue;
    for (int i = v * kLanes; i < v * kLanes + some; ++i) {
      if (doubtful[i % kLanes] != 0) y[i] = fold_in_double<kKind>(plan, x + i, plan.inner);
    }
  }
}

/// Rows so short that a row in each lane takes less time than a vector of each row.
constexpr std::int64_t kShortRow = 8;

template <ReduceKind kKind>
SLUICE_CPU_INLINE float fold_short_row(const float* x, std::int64_t count) {
  float result = is_sum<kKind>() ? 0.0f : x[0];
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = x[i];
    if constexpr (kKind == ReduceKind::kSumOfSquares) {
      result += v * v;
    } else if constexpr (kKind == ReduceKind::kSumOfMagnitudes) {
      result += __builtin_fabsf(v);
    } else if constexpr (is_sum<kKind>()) {
      result += v;
    } else {
      // One instruction, where a branch would be anyone's guess; it gives v if either is NaN.
      const bool keeps = kKind == ReduceKind::kMax ? result > v : result < v;
      const float better = keeps ? result : v;
      result = result != result ? result : better;
    }
  }
  return result;
}

/// A row in each lane.
template <ReduceKind kKind>
SLUICE_CPU_INLINE Vec fold_short_rows(const float* x, std::int64_t count) {
  Vec result = prepare<kKind>(column_of(x, count));
  for (std::int64_t i = 1; i < count; ++i) {
    result = fold<kKind>(result, prepare<kKind>(column_of(x + i, count)));
  }
  return result;
}

/// The results of kLanes rows are finished together.
template <ReduceKind kKind>
void run_short_rows(const ReducePlan& plan, const float* x, float* y, const Share& share) {
  for (std::int64_t o = share.begin; o < share.end; o += kLanes) {
    const std::int64_t left = share.end - o;
    const int rows = static_cast<int>(left < kLanes ? left : kLanes);
    const float* from = x + o * plan.axis;
    Vec folded = {};
    if (rows == kLanes) {
      folded = fold_short_rows<kKind>(from, plan.axis);
    } else {
      for (int r = 0; r < rows; ++r) {
        folded[r] = fold_short_row<kKind>(from + r * plan.axis, plan.axis);
      }
    }
    store_first(y + o, finish(plan, folded), rows);
    const VecI doubtful = are_doubtful<kKind>(plan, folded);
    if (!any(doubtful)) continue;
    for (int r = 0; r < rows; ++r) {
      if (doubtful[r] != 0) y[o + r] = fold_in_double<kKind>(plan, from + r * plan.axis, 1);
    }
  }
}

template <ReduceKind kKind>
void run(const ReducePlan& plan, const float* x, float* y, const Worker& worker) {
  if (plan.inner == 1) {
    const Share share = share_of(plan.outer, 1, worker);
    if (plan.axis <= kShortRow) return run_short_rows<kKind>(plan, x, y, share);
    for (std::int64_t o = share.begin; o < share.end; ++o) {
      const float sum = fold_row<kKind>(x + o * plan.axis, plan.axis);
      if (is_doubtful<kKind>(plan, sum)) {
        y[o] = fold_in_double<kKind>(plan, x + o * plan.axis, 1);
      } else {
        store_first(y + o, finish(plan, broadcast(sum)), 1);
      }
    }
    return;
  }
  constexpr std::int64_t kStrip = kStripVectors * kLanes;
  const std::int64_t strips = (plan.inner + kStrip - 1) / kStrip;
  const Share share = share_of(plan.outer * strips, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    const std::int64_t end = (i % strips + 1) * kStrip;
    const float* from = x + i / strips * plan.axis * plan.inner;
    float* to = y + i / strips * plan.inner;
    if (end <= plan.inner) {
      fold_columns<kKind, kStripVectors>(plan, from + end - kStrip, kLanes, to + end - kStrip);
      continue;
    }
    for (std::int64_t column = end - kStrip; column < plan.inner; column += kLanes) {
      const std::int64_t left = plan.inner - column;
      const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
      fold_columns<kKind, 1>(plan, from + column, lanes, to + column);
    }
  }
}

}  // namespace

void run_reduce(const ReducePlan& plan, const float* x, float* y, const Worker& worker) {
  switch (plan.kind) {
    case ReduceKind::kSum: return run<ReduceKind::kSum>(plan, x, y, worker);
    case ReduceKind::kSumOfSquares: return run<ReduceKind::kSumOfSquares>(plan, x, y, worker);
    case ReduceKind::kSumOfMagnitudes: return run<ReduceKind::kSumOfMagnitudes>(plan, x, y, worker);
    case ReduceKind::kMax: return run<ReduceKind::kMax>(plan, x, y, worker);
    case ReduceKind::kMin: return run<ReduceKind::kMin>(plan, x, y, worker);
    case ReduceKind::kProduct: return;  // run_typed_reduce
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
