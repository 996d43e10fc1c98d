// Arithmetic of fp16 and bf16, alone and in pairs. Floats hold sums and products of two of them so
// exactly that the second rounding does no harm (24 bits are 2 * 11 + 2).
#include "emulator/ptx/memory/block.h"
#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/half_numbers.h"
#include "emulator/ptx/ops/select_type.h"

namespace sluice::cuda::ptx {
namespace {

template <class H>
H narrow(Modifiers modifiers, float value) {
  if (modifiers.has(kSaturate)) value = saturate(value);
  if (modifiers.has(kRelu) && value <= 0) value = 0;
  H half;
  from_float(value, &half);
  return half;
}

struct HAdd {
  template <class H>
  static H one(Modifiers m, H a, H b) {
    return narrow<H>(m, to_float(a) + to_float(b));
  }
};
struct HSub {
  template <class H>
  static H one(Modifiers m, H a, H b) {
    return narrow<H>(m, to_float(a) - to_float(b));
  }
};
struct HMul {
  template <class H>
  static H one(Modifiers m, H a, H b) {
    return narrow<H>(m, to_float(a) * to_float(b));
  }
};
struct HFma {
  template <class H>
  static H one(Modifiers m, H a, H b, H c) {
    const double product = double{to_float(a)} * to_float(b), addend = to_float(c);
    double sum = product + addend;
    sum = with_sticky_bit(sum, sum_error(product, addend, sum));
    if (m.has(kSaturate)) sum = saturate(sum);
    if (m.has(kRelu) && sum <= 0) sum = 0;
    H half;
    round_from(sum, Rounding::kNearest, &half);
    return half;
  }
};
template <bool kIsMax, class H>
H half_extreme(Modifiers m, H a, H b) {
  const float x = to_float(a), y = to_float(b);
  if (std::isnan(x) || std::isnan(y)) {
    if (m.has(kNan) || (std::isnan(x) && std::isnan(y))) return {0x7fff};
    return std::isnan(x) ? b : a;
  }
  if (x == y) return std::signbit(x) == kIsMax ? b : a;
  return (x < y) == kIsMax ? b : a;
}
struct HMin {
  template <class H>
  static H one(Modifiers m, H a, H b) {
    return half_extreme<false>(m, a, b);
  }
};
struct HMax {
  template <class H>
  static H one(Modifiers m, H a, H b) {
    return half_extreme<true>(m, a, b);
  }
};
struct HNeg {
  template <class H>
  static H one(Modifiers, H a) {
    return {static_cast<std::uint16_t>(a.bits ^ 0x8000u)};
  }
};
struct HAbs {
  template <class H>
  static H one(Modifiers, H a) {
    return {static_cast<std::uint16_t>(a.bits & 0x7fffu)};
  }
};

// Functions with as many arguments as the operation has, of one number and of two.
template <class Op, int kArguments>
struct Arity;
template <class Op>
struct Arity<Op, 1> {
  template <class H>
  static H one(Modifiers m, H a) {
    return Op::one(m, a);
  }
  template <class H>
  static Pair<H> two(Modifiers m, Pair<H> a) {
    return {Op::one(m, a.low), Op::one(m, a.high)};
  }
};
template <class Op>
struct Arity<Op, 2> {
  template <class H>
  static H one(Modifiers m, H a, H b) {
    return Op::one(m, a, b);
  }
  template <class H>
  static Pair<H> two(Modifiers m, Pair<H> a, Pair<H> b) {
    return {Op::one(m, a.low, b.low), Op::one(m, a.high, b.high)};
  }
};
template <class Op>
struct Arity<Op, 3> {
  template <class H>
  static H one(Modifiers m, H a, H b, H c) {
    return Op::one(m, a, b, c);
  }
  template <class H>
  static Pair<H> two(Modifiers m, Pair<H> a, Pair<H> b, Pair<H> c) {
    return {Op::one(m, a.low, b.low, c.low), Op::one(m, a.high, b.high, c.high)};
  }
};

template <class Op, int kArguments>
Step half_step(Type type) {
  using Form = Arity<Op, kArguments>;
  switch (type) {
    case Type::kF16: return lanewise<&Form::template one<Half>>;
    case Type::kBf16: return lanewise<&Form::template one<Brain>>;
    case Type::kF16x2: return lanewise<&Form::template two<Half>>;
    default: return lanewise<&Form::template two<Brain>>;
  }
}

template <class H>
void fuse_halves(Warp& warp, const Instruction& in) {
  lanewise<&Arity<HFma, 3>::template one<H>>(warp, in);
  warp.block->counts->lane_multiplications += static_cast<unsigned>(std::popcount(warp.mask));
}

template <class H>
void fuse_pairs(Warp& warp, const Instruction& in) {
  lanewise<&Arity<HFma, 3>::template two<H>>(warp, in);
  warp.block->counts->lane_multiplications += 2U * static_cast<unsigned>(std::popcount(warp.mask));
}

Step fused_half_step(Type type) {
  switch (type) {
    case Type::kF16: return fuse_halves<Half>;
    case Type::kBf16: return fuse_halves<Brain>;
    case Type::kF16x2: return fuse_pairs<Half>;
    default: return fuse_pairs<Brain>;
  }
}

Step step_by_name(std::string_view name, Type type) {
  if (name == "add") return half_step<HAdd, 2>(type);
  if (name == "sub") return half_step<HSub, 2>(type);
  if (name == "mul") return half_step<HMul, 2>(type);
  if (name == "fma") return fused_half_step(type);
  if (name == "min") return half_step<HMin, 2>(type);
  if (name == "max") return half_step<HMax, 2>(type);
  if (name == "neg") return half_step<HNeg, 1>(type);
  if (name == "abs") return half_step<HAbs, 1>(type);
  return nullptr;
}

}  // namespace

void decode_half(Decoder& d, Type type) {
  const std::string_view name = d.family();
  d.instruction.modifiers = take_float_modifiers(d);
  if ((d.instruction.modifiers & kRoundingBits) != 0) d.refuse_form();
  // A flush of fp16 changes results below 2^-14 alone; no compiler of ours asks for it.
  if ((d.instruction.modifiers & kFlush) != 0 && name != "abs" && name != "neg") d.refuse_form();
  const std::size_t sources = name == "fma" ? 3 : name == "abs" || name == "neg" ? 1 : 2;
  d.need_operands(sources + 1, sources + 1);
  d.instruction.step = step_by_name(name, type);
  if (d.instruction.step == nullptr) d.refuse_form();
  d.instruction.out = d.target(0, type);
  for (std::size_t i = 0; i < sources; ++i) d.instruction.in[i] = d.source(i + 1, type);
  d.finish();
}

}  // namespace sluice::cuda::ptx
