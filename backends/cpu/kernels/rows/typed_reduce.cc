#include "kernels/rows/typed_reduce.h"

#include "core/simd.h"
#include "kernels/elements/numbers.h"

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

/// Joins halves until one fold is left. Each width is known to the compiler, which picks vectors.
template <ReduceKind kKind, std::int64_t kWidth, typename A>
SLUICE_CPU_INLINE void halve(A* folds) {
  if constexpr (kWidth > 0) {
    for (std::int64_t i = 0; i < kWidth; ++i) folds[i] = join<kKind>(folds[i], folds[i + kWidth]);
    halve<kKind, kWidth / 2>(folds);
  }
}

/// Rows of so few elements are folded one by one.
constexpr std::int64_t kShortRow = 12;
/// Bytes of folds: those of a long row fit a few registers, those of a short one are few to join.
constexpr std::int64_t kLongPiece = 256;
constexpr std::int64_t kShortPiece = 64;

/// A row in pieces of kBytes, which are rows of columns.
template <ReduceKind kKind, std::int64_t kBytes, typename T>
SLUICE_CPU_INLINE FoldOf<T> fold_pieces(const T* x, std::int64_t count) {
  using A = FoldOf<T>;
  // A power of two, which the halving below needs.
  constexpr std::int64_t kPiece = kBytes / static_cast<std::int64_t>(sizeof(A));
  A folds[kPiece];
  for (A& fold : folds) fold = start<kKind, A>();
  const std::int64_t whole = count / kPiece;
  fold_rows<kKind>(x, whole, kPiece, kPiece, folds);
  // What is left is a row of its own, shorter than the others.
  fold_rows<kKind>(x + whole * kPiece, 1, 0, count - whole * kPiece, folds);
  halve<kKind, kPiece / 2>(folds);
  return folds[0];
}

template <ReduceKind kKind, typename T>
FoldOf<T> fold_row(const T* x, std::int64_t count) {
  using A = FoldOf<T>;
  if (count <= kShortRow) {
    A fold = start<kKind, A>();
    for (std::int64_t i = 0; i < count; ++i) fold = join<kKind>(fold, prepare<kKind>(A{x[i]}));
    return fold;
  }
  // An extreme of floats takes so long that few chains of them wait for each other.
  constexpr bool kIsSlow = kIsFloat<A> && (kKind == ReduceKind::kMax || kKind == ReduceKind::kMin);
  const bool is_long = kIsSlow || count * static_cast<std::int64_t>(sizeof(A)) >= 4 * kLongPiece;
  return is_long ? fold_pieces<kKind, kLongPiece>(x, count)
                 : fold_pieces<kKind, kShortPiece>(x, count);
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
