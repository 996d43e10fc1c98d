// Logic, shifts and fields of bits.
#include <algorithm>

#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/lanewise.h"
#include "emulator/ptx/ops/select_type.h"

namespace sluice::cuda::ptx {
namespace {

struct And {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <class T>
  static T apply(T a) {
    return a == 0 ? 1 : 0;
  }
};

// Shifts by the width or more behave as shifts by the width.
struct ShiftLeft {
  template <class T>
  static T apply(T a, std::uint32_t by) {
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<std::uint64_t>(a) << by);
  }
};
struct ShiftRight {
  template <class T>
  static T apply(T a, std::uint32_t by) {
    const std::uint32_t limit = 8 * sizeof(T) - 1;
    if (by > limit && std::is_unsigned_v<T>) return 0;
    return static_cast<T>(a >> std::min(by, limit));
  }
};

std::uint32_t funnel_left(Modifiers clamps, std::uint32_t low, std::uint32_t high,
                          std::uint32_t by) {
  const std::uint32_t shift = clamps.bits != 0 ? std::min(by, 32u) : by & 31;
  return static_cast<std::uint32_t>(((std::uint64_t{high} << 32 | low) << shift) >> 32);
}
std::uint32_t funnel_right(Modifiers clamps, std::uint32_t low, std::uint32_t high,
                           std::uint32_t by) {
  const std::uint32_t shift = clamps.bits != 0 ? std::min(by, 32u) : by & 31;
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> shift);
}

/// Bits [at, at + length) of `a`; signed ones repeat the highest bit that lies within the number.
struct Extract {
  template <class T>
  static T apply(T a, std::uint32_t at, std::uint32_t length) {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    using U = std::make_unsigned_t<T>;
    at &= 0xff;
    length &= 0xff;
    if (length == 0) return 0;
    const bool is_negative =
        std::is_signed_v<T> && (static_cast<U>(a) >> std::min(at + length - 1, kBits - 1) & 1) != 0;
    const U fill = is_negative ? ~U{0} : U{0};
    const U shifted = at >= kBits ? U{0} : static_cast<U>(static_cast<U>(a) >> at);
    const std::uint32_t valid = at >= kBits ? 0 : std::min(length, kBits - at);
    if (valid == kBits) return static_cast<T>(shifted);
    const U mask = static_cast<U>((U{1} << valid) - 1);
    return static_cast<T>((shifted & mask) | (fill & ~mask));
  }
};
struct Insert {
  template <class T>
  static T apply(T a, T b, std::uint32_t at, std::uint32_t length) {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    at &= 0xff;
    length &= 0xff;
    if (at >= kBits || length == 0) return b;
    const T ones = length >= kBits ? ~T{0} : (T{1} << length) - 1;
    return static_cast<T>((b & ~(ones << at)) | ((a & ones) << at));
  }
};

struct Reverse {
  template <class T>
  static T apply(T a) {
    T result = 0;
    for (std::size_t i = 0; i < 8 * sizeof(T); ++i)
      result |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return result;
  }
};
struct LeadingZeros {
  template <class T>
  static std::uint32_t apply(T a) {
    return static_cast<std::uint32_t>(std::countl_zero(a));
  }
};
struct Population {
  template <class T>
  static std::uint32_t apply(T a) {
    return static_cast<std::uint32_t>(std::popcount(a));
  }
};
/// The highest bit that differs from the sign; all ones without one.
struct FindBit {
  template <class T>
  static std::uint32_t apply(Modifiers from_top, T a) {
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(a < T{0} ? ~a : a);
    if (bits == 0) return 0xffffffffu;
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
    return from_top.bits != 0 ? zeros : static_cast<std::uint32_t>(8 * sizeof(T) - 1) - zeros;
  }
};

std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selectors) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t selector = selectors >> 4 * i & 15;
    std::uint32_t byte = static_cast<std::uint32_t>(bytes >> 8 * (selector & 7)) & 0xff;
    if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

/// Modifiers: the truth table, bit 4a + 2b + c.
std::uint32_t any_logic(Modifiers table, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    if ((table.bits >> i & 1) == 0) continue;
    result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  return result;
}

struct CopySign {
  template <class T>
  static T apply(T sign, T magnitude) {
    constexpr T kSign = T{1} << (8 * sizeof(T) - 1);
    return (sign & kSign) | (magnitude & ~kSign);
  }
};

// ---- predicates: 32 lanes are the bits of one number --------------------------------------------

template <class Op>
void predicate_logic(Warp& warp, const Instruction& in) {
  warp.store_predicate(in.out, Op::apply(warp.predicate(in.in[0]), warp.predicate(in.in[1])));
}
void predicate_not(Warp& warp, const Instruction& in) {
  warp.store_predicate(in.out, ~warp.predicate(in.in[0]));
}

/// Fills the operands: the result of type `result`, sources of the types given.
void read(Decoder& d, Step step, Type result, std::initializer_list<Type> sources) {
  if (step == nullptr) d.refuse_form();
  d.need_operands(sources.size() + 1, sources.size() + 1);
  d.instruction.step = step;
  d.instruction.out = d.target(0, result);
  std::size_t i = 0;
  for (const Type type : sources) d.instruction.in[i] = d.source(i + 1, type), ++i;
  d.finish();
}

template <class Op>
void decode_logic(Decoder& d) {
  const Type type = d.need_type();
  read(d, type == Type::kPred ? predicate_logic<Op> : bits_step<Op>(type), type, {type, type});
}
void decode_not(Decoder& d) {
  const Type type = d.need_type();
  read(d, type == Type::kPred ? predicate_not : bits_step<Not>(type), type, {type});
}
void decode_cnot(Decoder& d) {
  const Type type = d.need_type();
  read(d, bits_step<LogicalNot>(type), type, {type});
}
void decode_shl(Decoder& d) {
  const Type type = d.need_type();
  read(d, bits_step<ShiftLeft>(type), type, {type, Type::kU32});
}
void decode_shr(Decoder& d) {
  const Type type = d.need_type();
  read(d, integer_step<ShiftRight>(type), type, {type, Type::kU32});
}
void decode_shf(Decoder& d) {
  const int side = d.take_one_of({"l", "r"}), mode = d.take_one_of({"wrap", "clamp"});
  const Type type = d.need_type();
  if (side < 0 || mode < 0 || type != Type::kB32) d.refuse_form();
  d.instruction.modifiers = static_cast<std::uint32_t>(mode);
  read(d, side == 0 ? lanewise<&funnel_left> : lanewise<&funnel_right>, type,
       {type, type, Type::kU32});
}
void decode_bfe(Decoder& d) {
  const Type type = d.need_type();
  read(d, size_of(type) < 4 ? nullptr : integer_step<Extract>(type), type,
       {type, Type::kU32, Type::kU32});
}
void decode_bfi(Decoder& d) {
  const Type type = d.need_type();
  const Step step = type == Type::kB32   ? lanewise<&Insert::apply<std::uint32_t>>
                    : type == Type::kB64 ? lanewise<&Insert::apply<std::uint64_t>>
                                         : nullptr;
  read(d, step, type, {type, type, Type::kU32, Type::kU32});
}
template <class Op>
Step count_step(Type type) {
  return type == Type::kB32   ? lanewise<&Op::template apply<std::uint32_t>>
         : type == Type::kB64 ? lanewise<&Op::template apply<std::uint64_t>>
                              : nullptr;
}
void decode_brev(Decoder& d) {
  const Type type = d.need_type();
  read(d, count_step<Reverse>(type), type, {type});
}
void decode_clz(Decoder& d) {
  const Type type = d.need_type();
  read(d, count_step<LeadingZeros>(type), Type::kU32, {type});
}
void decode_popc(Decoder& d) {
  const Type type = d.need_type();
  read(d, count_step<Population>(type), Type::kU32, {type});
}
void decode_bfind(Decoder& d) {
  d.instruction.modifiers = d.take("shiftamt") ? 1 : 0;
  const Type type = d.need_type();
  read(d, size_of(type) < 4 ? nullptr : integer_step<FindBit>(type), Type::kU32, {type});
}
void decode_prmt(Decoder& d) {
  const Type type = d.need_type();
  read(d, type == Type::kB32 ? lanewise<&permute> : nullptr, type, {type, type, type});
}
void decode_lop3(Decoder& d) {
  d.need_operands(5, 5);
  const Type type = d.need_type();
  const Operand& table = d.operand(4);
  if (type != Type::kB32 || table.kind != Operand::Kind::kInteger) d.refuse_form();
  d.instruction.modifiers = static_cast<std::uint32_t>(table.bits & 0xff);
  d.instruction.step = lanewise<&any_logic>;
  d.instruction.out = d.target(0, type);
  for (std::size_t i = 0; i < 3; ++i) d.instruction.in[i] = d.source(i + 1, type);
  d.finish();
}
void decode_copysign(Decoder& d) {
  const Type type = d.need_type();
  const Step step = type == Type::kF32   ? lanewise<&CopySign::apply<std::uint32_t>>
                    : type == Type::kF64 ? lanewise<&CopySign::apply<std::uint64_t>>
                                         : nullptr;
  read(d, step, type, {type, type});
}

}  // namespace

void add_bits(Opcodes* opcodes) {
  const std::pair<std::string_view, Decode> rows[] = {
      {"and", decode_logic<And>}, {"or", decode_logic<Or>},     {"xor", decode_logic<Xor>},
      {"not", decode_not},        {"cnot", decode_cnot},        {"shl", decode_shl},
      {"shr", decode_shr},        {"shf", decode_shf},          {"bfe", decode_bfe},
      {"bfi", decode_bfi},        {"brev", decode_brev},        {"clz", decode_clz},
      {"popc", decode_popc},      {"bfind", decode_bfind},      {"prmt", decode_prmt},
      {"lop3", decode_lop3},      {"copysign", decode_copysign}};
  opcodes->insert(std::begin(rows), std::end(rows));
}

}  // namespace sluice::cuda::ptx
