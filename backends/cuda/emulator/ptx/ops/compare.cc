// setp, set, selp, slct and testp.
#include <array>

#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/half_numbers.h"
#include "emulator/ptx/ops/select_type.h"

namespace sluice::cuda::ptx {
namespace {

// Modifiers beside those of rounding.h: how a result joins in[2], and whether it is inverted first.
constexpr std::uint32_t kInvert = 1u << 8, kAnd = 1u << 9, kOr = 1u << 10, kXor = 1u << 11,
                        kNotThird = 1u << 12;

// Five relations and their inverses are all that PTX has: "ltu", less or unordered, is no "ge".
enum class Relation : std::uint8_t { kLess, kLessEqual, kEqual, kLessGreater, kOrdered };

struct Comparison {
  std::string_view name;
  Relation relation;
  bool is_swapped, is_inverted;
};
constexpr Comparison kFloatComparisons[] = {
    {"eq", Relation::kEqual, false, false},       {"ne", Relation::kLessGreater, false, false},
    {"lt", Relation::kLess, false, false},        {"le", Relation::kLessEqual, false, false},
    {"gt", Relation::kLess, true, false},         {"ge", Relation::kLessEqual, true, false},
    {"equ", Relation::kLessGreater, false, true}, {"neu", Relation::kEqual, false, true},
    {"ltu", Relation::kLessEqual, true, true},    {"leu", Relation::kLess, true, true},
    {"gtu", Relation::kLessEqual, false, true},   {"geu", Relation::kLess, false, true},
    {"num", Relation::kOrdered, false, false},    {"nan", Relation::kOrdered, false, true},
};
constexpr Comparison kIntegerComparisons[] = {
    {"eq", Relation::kEqual, false, false}, {"ne", Relation::kEqual, false, true},
    {"lt", Relation::kLess, false, false},  {"le", Relation::kLessEqual, false, false},
    {"gt", Relation::kLess, true, false},   {"ge", Relation::kLessEqual, true, false},
    {"lo", Relation::kLess, false, false},  {"ls", Relation::kLessEqual, false, false},
    {"hi", Relation::kLess, true, false},   {"hs", Relation::kLessEqual, true, false},
};

template <Relation kRelation, class T>
bool holds(T a, T b) {
  switch (kRelation) {
    case Relation::kLess: return a < b;
    case Relation::kLessEqual: return a <= b;
    case Relation::kEqual: return a == b;
    case Relation::kLessGreater: return a < b || a > b;
    default: return a == a && b == b;
  }
}

/// What a lane compares: the number itself, or a half's value.
template <class T>
T comparable(T value, bool flushes) {
  if constexpr (std::is_floating_point_v<T>) {
    return flushes ? flush(value) : value;
  } else {
    return value;
  }
}
inline float comparable(Half value, bool) { return to_float(value); }
inline float comparable(Brain value, bool) { return to_float(value); }

/// The lanes in which the relation holds; of pairs, in their lower and upper halves.
struct Outcome {
  std::uint32_t low = 0, high = 0;
};
template <Relation kRelation, class T>
struct Compare {
  static Outcome run(const Warp& warp, const Instruction& in) {
    const bool flushes = (in.modifiers & kFlush) != 0;
    const Stored<T>*a = warp.lanes<T>(in.in[0]), *b = warp.lanes<T>(in.in[1]);
    std::uint32_t low = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const bool is_set = holds<kRelation>(comparable(unpack<T>(a[lane]), flushes),
                                           comparable(unpack<T>(b[lane]), flushes));
      low |= std::uint32_t{is_set} << lane;
    }
    if ((in.modifiers & kInvert) != 0) low = ~low;
    return {low, ~low};
  }
};
template <Relation kRelation, class H>
struct Compare<kRelation, Pair<H>> {
  static Outcome run(const Warp& warp, const Instruction& in) {
    using P = Pair<H>;
    Outcome outcome;
    for (int lane = 0; lane < kLanes; ++lane) {
      const P a = unpack<P>(warp.lanes<P>(in.in[0])[lane]),
              b = unpack<P>(warp.lanes<P>(in.in[1])[lane]);
      outcome.low |= std::uint32_t{holds<kRelation>(to_float(a.low), to_float(b.low))} << lane;
      outcome.high |= std::uint32_t{holds<kRelation>(to_float(a.high), to_float(b.high))} << lane;
    }
    if ((in.modifiers & kInvert) != 0) outcome = {~outcome.low, ~outcome.high};
    return outcome;
  }
};

std::uint32_t combine(const Warp& warp, const Instruction& in, std::uint32_t bits) {
  if ((in.modifiers & (kAnd | kOr | kXor)) == 0) return bits;
  std::uint32_t third = warp.predicate(in.in[2]);
  if ((in.modifiers & kNotThird) != 0) third = ~third;
  return (in.modifiers & kAnd) != 0  ? bits & third
         : (in.modifiers & kOr) != 0 ? bits | third
                                     : bits ^ third;
}

/// p|q: of pairs each half's result, else the result and its opposite.
template <class C>
void set_predicates(Warp& warp, const Instruction& in) {
  const Outcome outcome = C::run(warp, in);
  const std::uint32_t low = combine(warp, in, outcome.low), high = combine(warp, in, outcome.high);
  warp.store_predicate(in.in[3], high);
  warp.store_predicate(in.out, low);
}

/// set: `count` bits of ones, or `offset` as the one of a float, in each lane that holds.
template <class C>
void set_values(Warp& warp, const Instruction& in) {
  const Outcome outcome = C::run(warp, in);
  const std::uint32_t low = combine(warp, in, outcome.low), high = combine(warp, in, outcome.high);
  const auto one = static_cast<std::uint32_t>(in.offset);
  std::uint32_t results[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    results[lane] = (low >> lane & 1) != 0 ? one & in.target : 0;
    if ((high >> lane & 1) != 0) results[lane] |= one & ~in.target;
  }
  warp.store(in.out, results);
}

template <template <class> class Make, Relation kRelation>
Step step_for_type(Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kU16: return Make<Compare<kRelation, std::uint16_t>>::kStep;
    case Type::kB32:
    case Type::kU32: return Make<Compare<kRelation, std::uint32_t>>::kStep;
    case Type::kB64:
    case Type::kU64: return Make<Compare<kRelation, std::uint64_t>>::kStep;
    case Type::kS16: return Make<Compare<kRelation, std::int16_t>>::kStep;
    case Type::kS32: return Make<Compare<kRelation, std::int32_t>>::kStep;
    case Type::kS64: return Make<Compare<kRelation, std::int64_t>>::kStep;
    case Type::kF16: return Make<Compare<kRelation, Half>>::kStep;
    case Type::kBf16: return Make<Compare<kRelation, Brain>>::kStep;
    case Type::kF16x2: return Make<Compare<kRelation, Pair<Half>>>::kStep;
    case Type::kBf16x2: return Make<Compare<kRelation, Pair<Brain>>>::kStep;
    case Type::kF32: return Make<Compare<kRelation, float>>::kStep;
    case Type::kF64: return Make<Compare<kRelation, double>>::kStep;
    default: return nullptr;
  }
}
template <template <class> class Make>
Step step_for(Relation relation, Type type) {
  switch (relation) {
    case Relation::kLess: return step_for_type<Make, Relation::kLess>(type);
    case Relation::kLessEqual: return step_for_type<Make, Relation::kLessEqual>(type);
    case Relation::kEqual: return step_for_type<Make, Relation::kEqual>(type);
    case Relation::kLessGreater: return step_for_type<Make, Relation::kLessGreater>(type);
    default: return step_for_type<Make, Relation::kOrdered>(type);
  }
}
template <class C>
struct Predicates {
  static constexpr Step kStep = set_predicates<C>;
};
template <class C>
struct Values {
  static constexpr Step kStep = set_values<C>;
};

Comparison take_comparison(Decoder& d, bool is_float_type) {
  const auto find = [&](const auto& comparisons) -> const Comparison* {
    for (const Comparison& comparison : comparisons) {
      if (d.take(comparison.name)) return &comparison;
    }
    return nullptr;
  };
  const Comparison* found = is_float_type ? find(kFloatComparisons) : find(kIntegerComparisons);
  if (found == nullptr) d.refuse_form();
  return *found;
}

/// The sources from the second operand on, and the modifiers; yields the relation.
Relation read_comparison(Decoder& d, Type type) {
  const Comparison comparison = take_comparison(d, is_float(type));
  Instruction& in = d.instruction;
  in.modifiers = comparison.is_inverted ? kInvert : 0;
  if (d.take("ftz")) in.modifiers |= kFlush;
  in.in[comparison.is_swapped ? 1 : 0] = d.source(1, type);
  in.in[comparison.is_swapped ? 0 : 1] = d.source(2, type);
  const int join = d.take_one_of({"and", "or", "xor"});
  d.need_operands(join < 0 ? 3 : 4, join < 0 ? 3 : 4);
  if (join >= 0) {
    Operand third = d.operand(3);
    in.modifiers |= kAnd << join | (third.is_negated ? kNotThird : 0);
    third.is_negated = false;
    in.in[2] = d.source(third, Type::kPred);
  }
  return comparison.relation;
}

void decode_setp(Decoder& d) {
  const Type type = d.need_type();
  const Relation relation = read_comparison(d, type);
  const Operand& result = d.operand(0);
  d.instruction.out = d.target_name(result.name, Type::kPred);
  d.instruction.in[3] =
      result.other.empty() ? d.builder().sink(false) : d.target_name(result.other, Type::kPred);
  d.instruction.step = step_for<Predicates>(relation, type);
  if (d.instruction.step == nullptr) d.refuse_form();
  d.finish();
}

void decode_set(Decoder& d) {
  const Type result = d.need_type(), type = d.need_type();
  const Relation relation = read_comparison(d, type);
  const bool is_pair = type == Type::kF16x2 || type == Type::kBf16x2;
  Instruction& in = d.instruction;
  in.target = is_pair ? 0xffffu : 0xffffffffu;  // the bits of the lower half
  switch (result) {
    case Type::kU32:
    case Type::kS32: in.offset = 0xffffffff; break;
    case Type::kU16:
    case Type::kS16: in.offset = 0xffff; break;
    case Type::kF32: in.offset = 0x3f800000; break;
    case Type::kF16: in.offset = 0x3c00; break;
    case Type::kBf16: in.offset = 0x3f80; break;
    case Type::kF16x2: in.offset = 0x3c003c00; break;
    case Type::kBf16x2: in.offset = 0x3f803f80; break;
    default: d.refuse_form();
  }
  if (is_pair && size_of(result) != 4) d.refuse_form();
  in.out = d.target(0, result);
  in.step = step_for<Values>(relation, type);
  if (in.step == nullptr) d.refuse_form();
  d.finish();
}

template <class S>
void select(Warp& warp, const Instruction& in) {
  const std::uint32_t chosen = warp.predicate(in.in[2]);
  const S *a = warp.lanes<S>(in.in[0]), *b = warp.lanes<S>(in.in[1]);
  S results[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const S keep = S{0} - (chosen >> lane & 1);
    results[lane] = (a[lane] & keep) | (b[lane] & ~keep);
  }
  warp.store(in.out, results);
}

void decode_selp(Decoder& d) {
  const Type type = d.need_type();
  d.need_operands(4, 4);
  d.instruction.out = d.target(0, type);
  d.instruction.in[0] = d.source(1, type);
  d.instruction.in[1] = d.source(2, type);
  d.instruction.in[2] = d.source(3, Type::kPred);
  if (size_of(type) < 2) d.refuse_form();
  d.instruction.step = is_wide(type) ? select<std::uint64_t> : select<std::uint32_t>;
  d.finish();
}

template <class S, class C>
S select_by_sign(S a, S b, C c) {
  return c >= C{0} ? a : b;
}

void decode_slct(Decoder& d) {
  const Type type = d.need_type(), sign = d.need_type();
  const bool is_integer = sign == Type::kS32;
  if ((!is_integer && sign != Type::kF32) || size_of(type) < 2) d.refuse_form();
  d.take("ftz");  // a flushed number keeps its side of 0
  d.need_operands(4, 4);
  d.instruction.out = d.target(0, type);
  d.instruction.in[0] = d.source(1, type);
  d.instruction.in[1] = d.source(2, type);
  d.instruction.in[2] = d.source(3, sign);
  d.instruction.step = is_wide(type)
                           ? (is_integer ? lanewise<&select_by_sign<std::uint64_t, std::int32_t>>
                                         : lanewise<&select_by_sign<std::uint64_t, float>>)
                       : is_integer ? lanewise<&select_by_sign<std::uint32_t, std::int32_t>>
                                    : lanewise<&select_by_sign<std::uint32_t, float>>;
  d.finish();
}

struct TestFloat {
  template <class T>
  static bool apply(Modifiers modifiers, T a) {
    switch (modifiers.bits) {
      case 0: return std::isfinite(a);
      case 1: return std::isinf(a);
      case 2: return !std::isnan(a);
      case 3: return std::isnan(a);
      case 4: return std::isnormal(a);
      default: return std::fpclassify(a) == FP_SUBNORMAL;
    }
  }
};

void decode_testp(Decoder& d) {
  const int test =
      d.take_one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const Type type = d.need_type();
  d.need_operands(2, 2);
  d.instruction.modifiers = static_cast<std::uint32_t>(test);
  d.instruction.step = float_step<TestFloat>(type);
  if (test < 0 || d.instruction.step == nullptr) d.refuse_form();
  d.instruction.out = d.target(0, Type::kPred);
  d.instruction.in[0] = d.source(1, type);
  d.finish();
}

}  // namespace

void add_compare(Opcodes* opcodes) {
  opcodes->emplace("setp", decode_setp);
  opcodes->emplace("set", decode_set);
  opcodes->emplace("selp", decode_selp);
  opcodes->emplace("slct", decode_slct);
  opcodes->emplace("testp", decode_testp);
}

}  // namespace sluice::cuda::ptx
