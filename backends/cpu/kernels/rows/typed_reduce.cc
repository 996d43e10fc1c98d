#include "kernels/rows/typed_reduce.h"

#include "core/simd.h"
#include "kernels/elements/numbers.h"
#include "kernels/rows/number_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr std::int64_t kStrip = 256;  ///< columns that are folded together

/// What elements of a type are folded in.
template <typename T>
using FoldOf = std::conditional_t<kIsFloat<T>, double, T>;

/// The fold of no elements: it changes nothing that joins it.
template <ReduceKind kKind, typename A>
constexpr A start() {
  using U = UnsignedOf<A>;
  if constexpr (kKind == ReduceKind::kProduct) return A{1};
  if constexpr (kKind != ReduceKind::kMax && kKind != ReduceKind::kMin) return A{0};
  if constexpr (kIsFloat<A>) return kKind == ReduceKind::kMax ? -__builtin_inf() : __builtin_inf();
  if constexpr (!kIsFloat<A>) {
    const A largest = static_cast<A>(static_cast<U>(~U{0}) >> (kIsSigned<A> ? 1 : 0));
    return kKind == ReduceKind::kMin ? largest : static_cast<A>(~largest);
  }
}

/// NaN wins, whichever side it is on.
template <ReduceKind kKind, typename A>
SLUICE_CPU_INLINE A extreme(A fold, A x) {
  const A better = kKind == ReduceKind::kMax ? (fold > x ? fold : x) : (fold < x ? fold : x);
  if constexpr (kIsFloat<A>) return fold != fold ? fold : better;
  return better;
}

template <ReduceKind kKind, typename A>
SLUICE_CPU_INLINE A join(A fold, A x) {
  using W = WrapOf<A>;
  if constexpr (kKind == ReduceKind::kMax || kKind == ReduceKind::kMin) {
    return extreme<kKind>(fold, x);
  } else if constexpr (kKind == ReduceKind::kProduct) {
    return static_cast<A>(static_cast<W>(fold) * static_cast<W>(x));
  } else {
    return static_cast<A>(static_cast<W>(fold) + static_cast<W>(x));
  }
}

template <ReduceKind kKind, typename A>
SLUICE_CPU_INLINE A prepare(A x) {
  using W = WrapOf<A>;
  if constexpr (kKind == ReduceKind::kSumOfSquares) {
    return static_cast<A>(static_cast<W>(x) * static_cast<W>(x));
  } else if constexpr (kKind == ReduceKind::kSumOfMagnitudes && kIsFloat<A>) {
    return __builtin_fabs(x);
  } else if constexpr (kKind == ReduceKind::kSumOfMagnitudes && kIsSigned<A>) {
    return x < 0 ? static_cast<A>(W{0} - static_cast<W>(x)) : x;
  } else {
    return x;
  }
}

/// folds[c] joins x[r * stride + c] for all rows.
/// The inner loop runs over columns, whose folds are independent: it vectorises without another
/// order of additions.
template <ReduceKind kKind, typename T, typename A>
SLUICE_CPU_INLINE void fold_rows(const T* __restrict x, std::int64_t rows, std::int64_t stride,
                                 std::int64_t columns, A* __restrict folds) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      folds[c] = join<kKind>(folds[c], prepare<kKind>(static_cast<A>(x[r * stride + c])));
    }
  }
}

/// Integers are added and multiplied without signs, where they wrap.
template <typename A>
using LaneOf = std::conditional_t<kIsFloat<A>, A, UnsignedOf<A>>;

template <ReduceKind kKind, typename V>
SLUICE_CPU_INLINE V join_lanes(V a, V b) {
  if constexpr (kKind == ReduceKind::kProduct) return a * b;
  return a + b;
}

template <ReduceKind kKind, typename A>
SLUICE_CPU_INLINE auto prepare_lanes(VectorOf<LaneOf<A>> x) {
  using V = VectorOf<LaneOf<A>>;
  if constexpr (kKind == ReduceKind::kSumOfSquares) return x * x;
  if constexpr (kKind == ReduceKind::kSumOfMagnitudes && (kIsFloat<A> || kIsSigned<A>)) {
    using Signed = VectorOf<A>;
    return (Signed)x < Signed{} ? V{} - x : x;
  }
  return x;
}

/// The first lanes of a row, prepared.
template <ReduceKind kKind, typename T>
SLUICE_CPU_INLINE auto lanes_of(const T* x) {
  using A = FoldOf<T>;
  if constexpr (sizeof(T) == sizeof(A)) {
    return prepare_lanes<kKind, A>((VectorOf<LaneOf<A>>)load_numbers(x));
  } else {
    VectorOf<A> wide;
    for (int lane = 0; lane < kLanesOf<A>; ++lane) wide[lane] = static_cast<A>(x[lane]);
    return prepare_lanes<kKind, A>(wide);
  }
}

/// The sum or product of a row that fills a vector, in independent chains of vectors. The last
/// vector overlaps the one before it, and the numbers that both have are taken out.
template <ReduceKind kKind, typename T>
SLUICE_CPU_INLINE FoldOf<T> fold_lanes(const T* x, std::int64_t count) {
  using A = FoldOf<T>;
  using L = LaneOf<A>;
  constexpr int kWidth = kLanesOf<A>;
  const VectorOf<L> nothing = all_of(static_cast<L>(start<kKind, A>()));
  VectorOf<L> folds[kFoldChains];
  for (VectorOf<L>& fold : folds) fold = nothing;
  std::int64_t i = 0;
  for (; i + kFoldChains * kWidth <= count; i += kFoldChains * kWidth) {
    SLUICE_CPU_UNROLL
    for (int c = 0; c < kFoldChains; ++c) {
      folds[c] = join_lanes<kKind>(folds[c], lanes_of<kKind>(x + i + c * kWidth));
    }
  }
  for (; i + kWidth <= count; i += kWidth) {
    folds[0] = join_lanes<kKind>(folds[0], lanes_of<kKind>(x + i));
  }
  if (i < count) {
    using I = SignedOf<A>;
    VectorOf<I> lane;
    for (int l = 0; l < kWidth; ++l) lane[l] = static_cast<I>(l);
    const VectorOf<I> is_new = lane >= all_of(static_cast<I>(kWidth - (count - i)));
    folds[1] = join_lanes<kKind>(folds[1], is_new ? lanes_of<kKind>(x + count - kWidth) : nothing);
  }
  folds[0] = join_lanes<kKind>(join_lanes<kKind>(folds[0], folds[1]),
                               join_lanes<kKind>(folds[2], folds[3]));
  A lanes[kWidth];
  __builtin_memcpy(lanes, &folds[0], sizeof lanes);
  for (int width = kWidth / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] = join<kKind>(lanes[l], lanes[l + width]);
  }
  return lanes[0];
}

/// Rows of so few numbers are added up one by one.
constexpr std::int64_t kShortRow = 12;

template <ReduceKind kKind, typename T>
FoldOf<T> fold_row(const T* x, std::int64_t count) {
  using A = FoldOf<T>;
  if constexpr (kKind == ReduceKind::kMax || kKind == ReduceKind::kMin) {
    return static_cast<A>(extreme_of<kKind == ReduceKind::kMax>(x, count));
  } else {
    if (count > kShortRow && count >= kLanesOf<A>) return fold_lanes<kKind>(x, count);
    A fold = start<kKind, A>();
    for (std::int64_t i = 0; i < count; ++i) fold = join<kKind>(fold, prepare<kKind>(A{x[i]}));
    return fold;
  }
}

template <typename T, typename A>
SLUICE_CPU_INLINE T finish(const ReducePlan& plan, A fold) {
  if constexpr (kIsFloat<A>) {
    fold /= plan.divisor;
    if (plan.root) fold = __builtin_sqrt(fold);
  }
  return static_cast<T>(fold);
}

template <ReduceKind kKind, typename T>
void fold_all(const ReducePlan& plan, const void* x_data, void* y_data, const Worker& worker) {
  using A = FoldOf<T>;
  const auto* x = static_cast<const T*>(x_data);
  auto* y = static_cast<T*>(y_data);
  if (plan.inner == 1) {
    const Share share = share_of(plan.outer, 1, worker);
    for (std::int64_t o = share.begin; o < share.end; ++o) {
      y[o] = finish<T>(plan, fold_row<kKind>(x + o * plan.axis, plan.axis));
    }
    return;
  }
  const std::int64_t strips = (plan.inner + kStrip - 1) / kStrip;
  const Share share = share_of(plan.outer * strips, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    const std::int64_t first = i % strips * kStrip;
    const std::int64_t left = plan.inner - first;
    const std::int64_t columns = left < kStrip ? left : kStrip;
    A folds[kStrip];
    for (std::int64_t c = 0; c < columns; ++c) folds[c] = start<kKind, A>();
    fold_rows<kKind>(x + i / strips * plan.axis * plan.inner + first, plan.axis, plan.inner,
                     columns, folds);
    T* to = y + i / strips * plan.inner + first;
    for (std::int64_t c = 0; c < columns; ++c) to[c] = finish<T>(plan, folds[c]);
  }
}

template <ReduceKind kKind>
void of_type(const ReducePlan& plan, Number type, const void* x, void* y, const Worker& worker) {
  switch (type) {
    case Number::kU8: return fold_all<kKind, std::uint8_t>(plan, x, y, worker);
    case Number::kI8: return fold_all<kKind, std::int8_t>(plan, x, y, worker);
    case Number::kU16: return fold_all<kKind, std::uint16_t>(plan, x, y, worker);
    case Number::kI16: return fold_all<kKind, std::int16_t>(plan, x, y, worker);
    case Number::kU32: return fold_all<kKind, std::uint32_t>(plan, x, y, worker);
    case Number::kI32: return fold_all<kKind, std::int32_t>(plan, x, y, worker);
    case Number::kU64: return fold_all<kKind, std::uint64_t>(plan, x, y, worker);
    case Number::kI64: return fold_all<kKind, std::int64_t>(plan, x, y, worker);
    case Number::kF32: return fold_all<kKind, float>(plan, x, y, worker);
    case Number::kF64: return fold_all<kKind, double>(plan, x, y, worker);
  }
}

}  // namespace

void run_typed_reduce(const ReducePlan& plan, Number type, const void* x, void* y,
                      const Worker& worker) {
  switch (plan.kind) {
    case ReduceKind::kSum: return of_type<ReduceKind::kSum>(plan, type, x, y, worker);
    case ReduceKind::kSumOfSquares:
      return of_type<ReduceKind::kSumOfSquares>(plan, type, x, y, worker);
    case ReduceKind::kSumOfMagnitudes:
      return of_type<ReduceKind::kSumOfMagnitudes>(plan, type, x, y, worker);
    case ReduceKind::kMax: return of_type<ReduceKind::kMax>(plan, type, x, y, worker);
    case ReduceKind::kMin: return of_type<ReduceKind::kMin>(plan, type, x, y, worker);
    case ReduceKind::kProduct: return of_type<ReduceKind::kProduct>(plan, type, x, y, worker);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
