#include "kernels/body/body.h"

#include "core/simd.h"
#include "kernels/body/functions.h"
#include "kernels/body/power.h"
#include "kernels/convert/half.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// One step with the addresses of its operands.
struct Bound {
  BodyOperand a;
  BodyOperand b;
  BodyOperand c;
  float* out;
  std::int64_t out_row;
  std::int64_t rows;
  std::int64_t cols;
  float alpha;
  float beta;
};

using StepFunction = void (*)(const Bound&);

/// Calls `apply(column, lanes)` for each vector of a row. `lanes` is below kLanes only in the last.
template <typename Apply>
SLUICE_CPU_INLINE void each_vector(std::int64_t cols, Apply apply) {
  std::int64_t c = 0;
  for (; c + kLanes <= cols; c += kLanes) apply(c, kLanes);
  if (c < cols) apply(c, static_cast<int>(cols - c));
}

SLUICE_CPU_INLINE Vec fetch(const float* p, int lanes) {
  return lanes == kLanes ? load(p) : load_first(p, lanes);
}

SLUICE_CPU_INLINE void put(float* p, Vec v, int lanes) {
  if (lanes == kLanes) {
    store(p, v);
  } else {
    store_first(p, v, lanes);
  }
}

template <BodyOp kOp>
SLUICE_CPU_INLINE Vec combine(Vec a, Vec b) {
  if constexpr (kOp == BodyOp::kAdd) return a + b;
  if constexpr (kOp == BodyOp::kSub) return a - b;
  if constexpr (kOp == BodyOp::kMul) return a * b;
  if constexpr (kOp == BodyOp::kDiv) return a / b;
  // ONNX: NaN wins. `min` and `max` return b if either is NaN, so only a NaN in a needs care.
  if constexpr (kOp == BodyOp::kMin) return select(a != a, a, min(a, b));
  if constexpr (kOp == BodyOp::kMax) return select(a != a, a, max(a, b));
  if constexpr (kOp == BodyOp::kLess) return select(a < b, broadcast(1.0f), Vec{});
  if constexpr (kOp == BodyOp::kLessOrEqual) return select(a <= b, broadcast(1.0f), Vec{});
  if constexpr (kOp == BodyOp::kEqual) return select(a == b, broadcast(1.0f), Vec{});
  if constexpr (kOp == BodyOp::kKeepWhere) return select(b != Vec{}, a, Vec{});
  if constexpr (kOp == BodyOp::kKeepUnless) return select(b == Vec{}, a, Vec{});
  if constexpr (kOp == BodyOp::kEither) return (Vec)((VecI)a | (VecI)b);
  if constexpr (kOp == BodyOp::kPrelu) return select(a < Vec{}, a * b, a);
  if constexpr (kOp == BodyOp::kPow) return power_of(a, b);
}

/// Rounds towards minus infinity. Floats from 2^23 on are integers, and to_int could overflow.
SLUICE_CPU_INLINE Vec floor(Vec x) {
  const Vec whole = __builtin_convertvector(to_int(x), Vec);
  const Vec down = select(whole > x, whole - broadcast(1.0f), whole);
  return select(abs(x) < broadcast(8388608.0f), copy_sign(down, x), x);
}

/// To the nearest integer, ties to even, for 0 <= x < 2^23.
SLUICE_CPU_INLINE Vec round_magnitude(Vec x) {
  const Vec magic = broadcast(8388608.0f);
  Vec shifted = x + magic;
  asm("" : "+x"(shifted));  // keeps the pair from being folded away
  return shifted - magic;
}

SLUICE_CPU_INLINE Vec clip(Vec x, Vec low, Vec high) { return min(high, max(low, x)); }

/// What is left of a sigmoid that does not reach zero counts once it multiplies a huge number.
SLUICE_CPU_INLINE Vec sigmoid_to_zero(Vec x) {
  if constexpr (kSigmoidReachesZero) return sigmoid(x);
  return select(x < broadcast(-87.0f), Vec{}, sigmoid(x));
}

/// x/2 * (1 + tanh(u)) = x * sigmoid(2 u) with u = sqrt(2/pi) * (x + 0.044715 x^3). The constants
/// are 0.044715 * sqrt(2/pi) and sqrt(2/pi).
SLUICE_CPU_INLINE Vec gelu_tanh(Vec x) {
  const Vec inner = x * fmadd(x * x, broadcast(0.035677408f), broadcast(0.79788456f));
  return x * sigmoid_to_zero(inner * broadcast(2.0f));
}

/// To the nearest, ties to even.
SLUICE_CPU_INLINE Vec round_to_bf16(Vec x) {
  const VecI bits = (VecI)x;
  // Adds just under half of the last kept bit, and exactly half if that bit is odd.
  const VecI rounded = bits + broadcast_int(0x7fff) + (bits >> 16 & broadcast_int(1));
  return select(x == x, (Vec)(rounded & broadcast_int(-0x10000)), x);
}

/// By the bits: denormal numbers are neither above nor below zero while a list runs.
SLUICE_CPU_INLINE Vec sign(Vec x) {
  const VecI magnitude = (VecI)abs(x);
  const VecI is_number = (magnitude > 0) & (magnitude <= broadcast_int(0x7f800000));
  return select(is_number, copy_sign(broadcast(1.0f), x), x);
}

template <BodyOp kOp>
SLUICE_CPU_INLINE Vec apply_unary(Vec x, Vec alpha, Vec beta) {
  const Vec zero{};
  const Vec one = broadcast(1.0f);
  if constexpr (kOp == BodyOp::kCopy) return x;
  if constexpr (kOp == BodyOp::kNeg) return -x;
  if constexpr (kOp == BodyOp::kAbs) return abs(x);
  if constexpr (kOp == BodyOp::kSquare) return x * x;
  if constexpr (kOp == BodyOp::kSqrt) return sqrt(x);
  if constexpr (kOp == BodyOp::kPowHalf) {
    const Vec infinity = broadcast(__builtin_inff());
    return select(x == -infinity, infinity, sqrt(x + zero));
  }
  if constexpr (kOp == BodyOp::kReciprocal) return one / x;
  if constexpr (kOp == BodyOp::kExp) return exp(x);
  if constexpr (kOp == BodyOp::kLog) return log(x);
  if constexpr (kOp == BodyOp::kErf) return erf(x);
  if constexpr (kOp == BodyOp::kTanh) return tanh(x);
  if constexpr (kOp == BodyOp::kSigmoid) return sigmoid_to_zero(x);
  if constexpr (kOp == BodyOp::kRelu) return max(zero, x);
  if constexpr (kOp == BodyOp::kGelu) {
    const Vec half = x * broadcast(0.5f);
    return fmadd(half, erf(x * broadcast(0.70710678f)), half);
  }
  if constexpr (kOp == BodyOp::kGeluTanh) return gelu_tanh(x);
  if constexpr (kOp == BodyOp::kScale) return alpha * x;
  if constexpr (kOp == BodyOp::kSilu) return x * sigmoid_to_zero(alpha * x);
  if constexpr (kOp == BodyOp::kLeakyRelu) return select(x < zero, alpha * x, x);
  if constexpr (kOp == BodyOp::kElu) return select(x < zero, alpha * (exp(x) - one), x);
  if constexpr (kOp == BodyOp::kHardSigmoid) return clip(fmadd(alpha, x, beta), zero, one);
  if constexpr (kOp == BodyOp::kHardSwish) {
    return x * clip(fmadd(x, broadcast(1.0f / 6.0f), broadcast(0.5f)), zero, one);
  }
  if constexpr (kOp == BodyOp::kClip) return clip(x, alpha, beta);
  if constexpr (kOp == BodyOp::kSoftplus) return max(x, zero) + log_one_plus(exp(-abs(x)));
  if constexpr (kOp == BodyOp::kSoftsign) return x / (one + abs(x));
  if constexpr (kOp == BodyOp::kThreshold) return select(x > alpha, x, zero);
  if constexpr (kOp == BodyOp::kFloor) return floor(x);
  if constexpr (kOp == BodyOp::kCeil) return -floor(-x);
  if constexpr (kOp == BodyOp::kRound) {
    return select(abs(x) < broadcast(8388608.0f), copy_sign(round_magnitude(abs(x)), x), x);
  }
  if constexpr (kOp == BodyOp::kSign) return sign(x);
  if constexpr (kOp == BodyOp::kSin) return sin(x);
  if constexpr (kOp == BodyOp::kCos) return cos(x);
  if constexpr (kOp == BodyOp::kTan) return tan(x);
  if constexpr (kOp == BodyOp::kAsin) return asin(x);
  if constexpr (kOp == BodyOp::kAcos) return acos(x);
  if constexpr (kOp == BodyOp::kAtan) return atan(x);
  if constexpr (kOp == BodyOp::kSinh) return sinh(x);
  if constexpr (kOp == BodyOp::kCosh) return cosh(x);
  if constexpr (kOp == BodyOp::kAsinh) return asinh(x);
  if constexpr (kOp == BodyOp::kAcosh) return acosh(x);
  if constexpr (kOp == BodyOp::kAtanh) return atanh(x);
  if constexpr (kOp == BodyOp::kNot) return select(x == zero, one, zero);
  if constexpr (kOp == BodyOp::kIsNan) return select(x != x, one, zero);
  if constexpr (kOp == BodyOp::kRoundToF16) return round_to_half(x);
  if constexpr (kOp == BodyOp::kRoundToBf16) return round_to_bf16(x);
}

template <BodyOp kOp>
void unary_step(const Bound& s) {
  const Vec alpha = broadcast(s.alpha);
  const Vec beta = broadcast(s.beta);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const float* a = s.a.data + r * s.a.row;
    float* out = s.out + r * s.out_row;
    if (s.a.col == 0) {
      const Vec y = apply_unary<kOp>(broadcast(*a), alpha, beta);
      each_vector(s.cols, [&](std::int64_t c, int lanes) { put(out + c, y, lanes); });
    } else {
      each_vector(s.cols, [&](std::int64_t c, int lanes) {
        put(out + c, apply_unary<kOp>(fetch(a + c, lanes), alpha, beta), lanes);
      });
    }
  }
}

template <BodyOp kOp>
void binary_step(const Bound& s) {
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const float* a = s.a.data + r * s.a.row;
    const float* b = s.b.data + r * s.b.row;
    float* out = s.out + r * s.out_row;
    if (s.a.col == 1 && s.b.col == 1) {
      each_vector(s.cols, [&](std::int64_t c, int lanes) {
        put(out + c, combine<kOp>(fetch(a + c, lanes), fetch(b + c, lanes)), lanes);
      });
    } else if (s.a.col == 1) {
      const Vec y = broadcast(*b);
      each_vector(s.cols, [&](std::int64_t c, int lanes) {
        put(out + c, combine<kOp>(fetch(a + c, lanes), y), lanes);
      });
    } else {
      const Vec x = broadcast(*a);
      each_vector(s.cols, [&](std::int64_t c, int lanes) {
        const Vec y = s.b.col == 1 ? fetch(b + c, lanes) : broadcast(*b);
        put(out + c, combine<kOp>(x, y), lanes);
      });
    }
  }
}

/// A product that no instruction adds to before it is rounded.
SLUICE_CPU_INLINE Vec rounded_product(Vec a, Vec b) {
  Vec product = a * b;
  asm("" : "+x"(product));
  return product;
}

void multiply_add_step(const Bound& s) {
  // At least one factor has its columns, or each column is the same.
  const BodyOperand& x = s.a.col == 1 ? s.a : s.b;
  const BodyOperand& factor = s.a.col == 1 ? s.b : s.a;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const float* a = x.data + r * x.row;
    const float* b = factor.data + r * factor.row;
    const float* c = s.c.data + r * s.c.row;
    float* out = s.out + r * s.out_row;
    const Vec one_a = broadcast(*a);
    const Vec one_b = broadcast(*b);
    const Vec one_c = broadcast(*c);
    if (x.col == 1 && factor.col == 0 && s.c.col == 0) {
      each_vector(s.cols, [&](std::int64_t at, int lanes) {
        put(out + at, rounded_product(fetch(a + at, lanes), one_b) + one_c, lanes);
      });
      continue;
    }
    each_vector(s.cols, [&](std::int64_t at, int lanes) {
      const Vec left = x.col == 1 ? fetch(a + at, lanes) : one_a;
      const Vec right = factor.col == 1 ? fetch(b + at, lanes) : one_b;
      const Vec added = s.c.col == 1 ? fetch(c + at, lanes) : one_c;
      put(out + at, rounded_product(left, right) + added, lanes);
    });
  }
}

template <BodyOp kOp>
constexpr StepFunction step_function() {
  if constexpr (kOp == BodyOp::kMulAdd) {
    return multiply_add_step;
  } else if constexpr (is_binary(kOp)) {
    return binary_step<kOp>;
  } else {
    return unary_step<kOp>;
  }
}

// A function per BodyOp, in the order of the enumeration. Ops<0, 1, ...> replaces
// std::index_sequence: kernel sources include no header with inline functions, see core/simd.h.
template <typename>
struct StepTable;

template <int... kOps>
struct Ops {};

template <int kCount, int... kOps>
struct OpsUpTo : OpsUpTo<kCount - 1, kCount - 1, kOps...> {};

template <int... kOps>
struct OpsUpTo<0, kOps...> {
  using Type = Ops<kOps...>;
};

template <int... kOps>
struct StepTable<Ops<kOps...>> {
  static constexpr StepFunction kFunctions[] = {step_function<static_cast<BodyOp>(kOps)>()...};
};

using Steps = StepTable<OpsUpTo<static_cast<int>(BodyOp::kCount)>::Type>;

/// True if the rows of an operand are contiguous, or the operand is one value: a tile of such
/// operands is computed as one long row.
SLUICE_CPU_INLINE bool is_dense(const BodyOperand& operand, std::int64_t cols) {
  return (operand.col == 1 && operand.row == cols) || (operand.col == 0 && operand.row == 0);
}

SLUICE_CPU_INLINE void run_step(const BodyStep& step, Bound bound) {
  if (bound.rows > 1 && bound.out_row == bound.cols && is_dense(bound.a, bound.cols) &&
      is_dense(bound.b, bound.cols) && is_dense(bound.c, bound.cols)) {
    bound.cols *= bound.rows;
    bound.rows = 1;
  }
  Steps::kFunctions[static_cast<int>(step.op)](bound);
}

}  // namespace

void run_body(const Body& body, const BodyOperand* inputs, const BodyTile& tile, float* scratch) {
  const auto operand = [&](int id) -> BodyOperand {
    if (id < kBodyFirstTemp) return inputs[id];
    if (id == kBodyOut) return {tile.out, tile.out_row, 1};
    if (id >= kBodyFirstConstant) return {body.constants + (id - kBodyFirstConstant), 0, 0};
    return {scratch + (id - kBodyFirstTemp) * kBodyTileFloats, tile.cols, 1};
  };
  for (int i = 0; i < body.step_count; ++i) {
    const BodyStep& step = body.steps[i];
    const bool last = step.result == kBodyOut;
    float* out = last ? tile.out : scratch + (step.result - kBodyFirstTemp) * kBodyTileFloats;
    const BodyOperand c = step.op == BodyOp::kMulAdd ? operand(step.c) : BodyOperand{};
    run_step(step, {operand(step.a), operand(step.b), c, out, last ? tile.out_row : tile.cols,
                    tile.rows, tile.cols, step.alpha, step.beta});
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
