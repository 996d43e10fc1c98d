// Integer arithmetic. Overflow wraps; a division by zero yields all ones, as devices do.
#include <algorithm>
#include <limits>

#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/lanewise.h"
#include "emulator/ptx/ops/select_type.h"

namespace sluice::cuda::ptx {
namespace {

template <class T>
using Bits = std::make_unsigned_t<T>;
// Products of 16-bit numbers would be computed as int and overflow; these do not.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
T wrap(Wrapping<T> value) {
  return static_cast<T>(value);
}

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return wrap<T>(Wrapping<T>(a) + Wrapping<T>(b));
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return wrap<T>(Wrapping<T>(a) - Wrapping<T>(b));
  }
};
struct MulLo {
  template <class T>
  static T apply(T a, T b) {
    return wrap<T>(Wrapping<T>(a) * Wrapping<T>(b));
  }
};
struct MadLo {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply(MulLo::apply(a, b), c);
  }
};
struct MulHi {
  template <class T>
  static T apply(T a, T b) {
    __extension__ using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((Wide{a} * Wide{b}) >> (8 * sizeof(T)));
  }
};
struct MadHi {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply(MulHi::apply(a, b), c);
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return Sub::apply(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return std::max(a, b);
  }
};
struct Abs {
  template <class T>
  static T apply(T a) {
    return a < 0 ? Sub::apply(T{0}, a) : a;
  }
};
struct Neg {
  template <class T>
  static T apply(T a) {
    return Sub::apply(T{0}, a);
  }
};
struct AbsDifference {
  template <class T>
  static T apply(T a, T b, T c) {
    return Add::apply(c, a < b ? Sub::apply(b, a) : Sub::apply(a, b));
  }
};

template <class W, class T>
W multiply_wide(T a, T b) {
  return static_cast<W>(static_cast<W>(a) * static_cast<W>(b));
}
template <class W, class T>
W multiply_add_wide(T a, T b, W c) {
  return Add::apply(multiply_wide<W>(a, b), c);
}

template <class T>
T saturating(std::int64_t value) {
  return static_cast<T>(std::clamp<std::int64_t>(value, std::numeric_limits<T>::min(),
                                                 std::numeric_limits<T>::max()));
}
std::int32_t add_saturating(std::int32_t a, std::int32_t b) {
  return saturating<std::int32_t>(std::int64_t{a} + b);
}
std::int32_t sub_saturating(std::int32_t a, std::int32_t b) {
  return saturating<std::int32_t>(std::int64_t{a} - b);
}

template <class T>
T multiply24(T a, T b) {
  return wrap<T>(Wrapping<T>(a << 8 >> 8) * Wrapping<T>(b << 8 >> 8));
}
template <class T>
T multiply_add24(T a, T b, T c) {
  return Add::apply(multiply24(a, b), c);
}

/// Four products of bytes; A and B are the types of a byte of each side.
template <class A, class B>
std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t c) {
  std::uint32_t sum = static_cast<std::uint32_t>(c);
  for (int i = 0; i < 32; i += 8) {
    sum += static_cast<std::uint32_t>(int{static_cast<A>(a >> i)} * int{static_cast<B>(b >> i)});
  }
  return static_cast<std::int32_t>(sum);
}

/// Two products of 16 bits with bytes; kShift is 0 for the two low bytes of `b`, 16 for the others.
template <class A, class B, int kShift>
std::int32_t dot2(std::uint32_t a, std::uint32_t b, std::int32_t c) {
  std::uint32_t sum = static_cast<std::uint32_t>(c);
  for (int i = 0; i < 2; ++i) {
    sum += static_cast<std::uint32_t>(int{static_cast<A>(a >> (16 * i))} *
                                      int{static_cast<B>(b >> (kShift + 8 * i))});
  }
  return static_cast<std::int32_t>(sum);
}

template <int kShift>
Step dot2_step(bool is_signed_a, bool is_signed_b) {
  if (is_signed_a) {
    return is_signed_b ? lanewise<&dot2<std::int16_t, std::int8_t, kShift>>
                       : lanewise<&dot2<std::int16_t, std::uint8_t, kShift>>;
  }
  return is_signed_b ? lanewise<&dot2<std::uint16_t, std::int8_t, kShift>>
                     : lanewise<&dot2<std::uint16_t, std::uint8_t, kShift>>;
}

void decode_dot(Decoder& d) {
  const bool is_pair = d.family() == "dp2a";
  const int half = is_pair ? d.take_one_of({"lo", "hi"}) : 0;
  if (half < 0) d.refuse_form();
  const Type a = d.need_type(), b = d.need_type();
  const bool is_signed_a = is_signed(a), is_signed_b = is_signed(b);
  d.need_operands(4, 4);
  d.instruction.out = d.target(0, Type::kS32);
  for (int i = 0; i < 3; ++i)
    d.instruction.in[i] = d.source(static_cast<std::size_t>(i) + 1, Type::kS32);
  if (is_pair) {
    d.instruction.step = half == 0 ? dot2_step<0>(is_signed_a, is_signed_b)
                                   : dot2_step<16>(is_signed_a, is_signed_b);
    return d.finish();
  }
  d.instruction.step = is_signed_a   ? (is_signed_b ? lanewise<&dot4<std::int8_t, std::int8_t>>
                                                    : lanewise<&dot4<std::int8_t, std::uint8_t>>)
                       : is_signed_b ? lanewise<&dot4<std::uint8_t, std::int8_t>>
                                     : lanewise<&dot4<std::uint8_t, std::uint8_t>>;
  d.finish();
}

Step wide_step(Type type, bool adds) {
  switch (type) {
    case Type::kU16:
      return adds ? lanewise<&multiply_add_wide<std::uint32_t, std::uint16_t>>
                  : lanewise<&multiply_wide<std::uint32_t, std::uint16_t>>;
    case Type::kS16:
      return adds ? lanewise<&multiply_add_wide<std::int32_t, std::int16_t>>
                  : lanewise<&multiply_wide<std::int32_t, std::int16_t>>;
    case Type::kU32:
      return adds ? lanewise<&multiply_add_wide<std::uint64_t, std::uint32_t>>
                  : lanewise<&multiply_wide<std::uint64_t, std::uint32_t>>;
    case Type::kS32:
      return adds ? lanewise<&multiply_add_wide<std::int64_t, std::int32_t>>
                  : lanewise<&multiply_wide<std::int64_t, std::int32_t>>;
    default: return nullptr;
  }
}

Type wider(Type type) {
  switch (type) {
    case Type::kU16: return Type::kU32;
    case Type::kS16: return Type::kS32;
    case Type::kU32: return Type::kU64;
    default: return Type::kS64;
  }
}

/// mul and mad: which half of the product, or all of it.
Step product_step(Decoder& d, Type type, bool adds, bool is_short) {
  const int part = d.take_one_of({"lo", "hi", "wide"});
  if (is_short) {
    if (part != 0 || size_of(type) != 4) d.refuse_form();
    if (is_signed(type)) {
      return adds ? lanewise<&multiply_add24<std::int32_t>> : lanewise<&multiply24<std::int32_t>>;
    }
    return adds ? lanewise<&multiply_add24<std::uint32_t>> : lanewise<&multiply24<std::uint32_t>>;
  }
  if (part == 1) return adds ? integer_step<MadHi>(type) : integer_step<MulHi>(type);
  if (part == 0) return adds ? integer_step<MadLo>(type) : integer_step<MulLo>(type);
  if (part == 2) return wide_step(type, adds);
  d.refuse_form();
}

Step plain_step(Decoder& d, Type type) {
  const std::string_view name = d.family();
  const bool saturates = d.take("sat");
  if (saturates && (type != Type::kS32 || (name != "add" && name != "sub"))) d.refuse_form();
  if (name == "add") return saturates ? lanewise<&add_saturating> : integer_step<Add>(type);
  if (name == "sub") return saturates ? lanewise<&sub_saturating> : integer_step<Sub>(type);
  if (name == "div") return integer_step<Div>(type);
  if (name == "rem") return integer_step<Rem>(type);
  if (name == "min") return integer_step<Min>(type);
  if (name == "max") return integer_step<Max>(type);
  if (name == "abs") return signed_step<Abs>(type);
  if (name == "neg") return signed_step<Neg>(type);
  if (name == "sad") return integer_step<AbsDifference>(type);
  return nullptr;
}

}  // namespace

void decode_integer(Decoder& d) {
  const std::string_view name = d.family();
  if (name == "dp4a" || name == "dp2a") return decode_dot(d);
  const bool is_short = name == "mul24" || name == "mad24";
  const bool adds = name == "mad" || name == "mad24";
  const bool is_product = is_short || adds || name == "mul";
  Decoder look = d;
  const bool is_wide_product = is_product && look.take("wide");
  const Type type = d.need_type();
  const std::size_t sources = name == "abs" || name == "neg" ? 1 : adds || name == "sad" ? 3 : 2;
  d.need_operands(sources + 1, sources + 1);
  d.instruction.step = is_product ? product_step(d, type, adds, is_short) : plain_step(d, type);
  if (d.instruction.step == nullptr) d.refuse_form();
  d.instruction.out = d.target(0, is_wide_product ? wider(type) : type);
  for (std::size_t i = 0; i < sources; ++i) {
    d.instruction.in[i] = d.source(i + 1, is_wide_product && i == 2 ? wider(type) : type);
  }
  d.finish();
}

}  // namespace sluice::cuda::ptx
