// cvt between integers and floats of all sizes, in all roundings; conversions to two halves at
// once.
#include <algorithm>

#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/half_numbers.h"

namespace sluice::cuda::ptx {
namespace {

// Modifier of cvt alone: the rounding is one to whole numbers (rni, rzi, rmi, rpi).
constexpr std::uint32_t kToInteger = 1u << 8;

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;
template <class T>
constexpr bool kIsReal = kIsHalf<T> || std::is_floating_point_v<T>;

double whole(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest: return std::nearbyint(value);
    case Rounding::kZero: return std::trunc(value);
    case Rounding::kDown: return std::floor(value);
    default: return std::ceil(value);
  }
}

template <class T>
double wide_value(Modifiers m, T value) {
  if constexpr (kIsHalf<T>) {
    return to_float(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return m.has(kFlush) ? flush(value) : value;
  } else {
    return value;
  }
}

/// Out of range becomes the nearest number of the type; NaN becomes 0.
template <class D>
D to_integer(double value) {
  // 2^digits, one more than the largest number; a shift by 64 would be too far.
  constexpr double kEnd =
      static_cast<double>(std::uint64_t{1} << (std::numeric_limits<D>::digits - 1)) * 2;
  if (std::isnan(value)) return 0;
  if (value >= kEnd) return std::numeric_limits<D>::max();
  if (value < static_cast<double>(std::numeric_limits<D>::min()))
    return std::numeric_limits<D>::min();
  return static_cast<D>(value);
}

/// `value + error` in the type and rounding asked for.
template <class D>
D to_real(Modifiers m, double value, double error) {
  if (m.has(kSaturate)) value = saturate(value);
  if (m.has(kRelu) && !(value > 0) && !(std::isnan(value))) value = 0;
  const Rounding rounding = m.has(kToInteger) ? Rounding::kNearest : rounding_of(m);
  if constexpr (kIsHalf<D>) {
    D half;
    if (const auto single = static_cast<float>(value);
        rounding == Rounding::kNearest && error == 0 && single == value) {
      from_float(single, &half);
      return half;
    }
    round_from(with_sticky_bit(value, error), rounding, &half);
    return half;
  } else if constexpr (std::is_same_v<D, float>) {
    const float result = rounding == Rounding::kNearest
                             ? static_cast<float>(with_sticky_bit(value, error))
                             : round_directed(value, error, rounding);
    return m.has(kFlush) ? flush(result) : result;
  } else {
    // An integer of 64 bits rounds here; the neighbour in the asked direction is one ulp away.
    const bool is_up = rounding == Rounding::kUp || (rounding == Rounding::kZero && value < 0);
    const bool is_down = rounding == Rounding::kDown || (rounding == Rounding::kZero && value > 0);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (is_up && error > 0) return std::nextafter(value, kInfinity);
    return is_down && error < 0 ? std::nextafter(value, -kInfinity) : value;
  }
}

template <class D, class S>
D convert(Modifiers m, S value) {
  if constexpr (kIsReal<S> && kIsReal<D>) {
    const double wide = wide_value(m, value);
    return to_real<D>(m, m.has(kToInteger) ? whole(wide, rounding_of(m)) : wide, 0);
  } else if constexpr (kIsReal<S>) {
    return to_integer<D>(whole(wide_value(m, value), rounding_of(m)));
  } else if constexpr (kIsReal<D>) {
    const auto wide = static_cast<double>(value);
    __extension__ using Exact = __int128;
    return to_real<D>(m, wide, static_cast<double>(Exact{value} - static_cast<Exact>(wide)));
  } else {
    if (!m.has(kSaturate)) return static_cast<D>(value);
    if (std::cmp_less(value, std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
    return std::cmp_greater(value, std::numeric_limits<D>::max()) ? std::numeric_limits<D>::max()
                                                                  : static_cast<D>(value);
  }
}

/// Registers may be larger than the types: sources are cut, results extended by their sign.
template <class D, class S>
void convert_lanes(Warp& warp, const Instruction& in) {
  const Modifiers modifiers{in.modifiers};
  std::uint64_t results[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto bits = static_cast<Stored<S>>(warp.read(in.in[0], lane));
    const D result = convert<D>(modifiers, unpack<S>(bits));
    if constexpr (std::is_integral_v<D> && std::is_signed_v<D>) {
      results[lane] = static_cast<std::uint64_t>(std::int64_t{result});
    } else {
      results[lane] = pack<D>(result);
    }
  }
  for_lanes(warp.mask, [&](int lane) { warp.write(in.out, lane, results[lane]); });
}

template <class D>
Step step_from(Type source) {
  switch (source) {
    case Type::kU8: return convert_lanes<D, std::uint8_t>;
    case Type::kU16: return convert_lanes<D, std::uint16_t>;
    case Type::kU32: return convert_lanes<D, std::uint32_t>;
    case Type::kU64: return convert_lanes<D, std::uint64_t>;
    case Type::kS8: return convert_lanes<D, std::int8_t>;
    case Type::kS16: return convert_lanes<D, std::int16_t>;
    case Type::kS32: return convert_lanes<D, std::int32_t>;
    case Type::kS64: return convert_lanes<D, std::int64_t>;
    case Type::kF16: return convert_lanes<D, Half>;
    case Type::kBf16: return convert_lanes<D, Brain>;
    case Type::kF32: return convert_lanes<D, float>;
    case Type::kF64: return convert_lanes<D, double>;
    default: return nullptr;
  }
}

Step step_to(Type result, Type source) {
  switch (result) {
    case Type::kU8: return step_from<std::uint8_t>(source);
    case Type::kU16: return step_from<std::uint16_t>(source);
    case Type::kU32: return step_from<std::uint32_t>(source);
    case Type::kU64: return step_from<std::uint64_t>(source);
    case Type::kS8: return step_from<std::int8_t>(source);
    case Type::kS16: return step_from<std::int16_t>(source);
    case Type::kS32: return step_from<std::int32_t>(source);
    case Type::kS64: return step_from<std::int64_t>(source);
    case Type::kF16: return step_from<Half>(source);
    case Type::kBf16: return step_from<Brain>(source);
    case Type::kF32: return step_from<float>(source);
    case Type::kF64: return step_from<double>(source);
    default: return nullptr;
  }
}

/// The first source becomes the upper half.
template <class H>
Pair<H> two_halves(Modifiers m, float high, float low) {
  return {convert<H>(m, low), convert<H>(m, high)};
}

/// tf32 keeps 10 bits behind the point; "rna" rounds ties away from 0, "rn" to even.
std::uint32_t to_tf32(Modifiers ties_away, std::uint32_t bits) {
  if ((bits & 0x7fffffffu) >= 0x7f800000u) return bits;
  const std::uint32_t half = ties_away.bits != 0 ? 0x1000u : 0xfffu + (bits >> 13 & 1);
  return (bits + half) & ~0x1fffu;
}

void decode_pair(Decoder& d, Type result) {
  if (d.take_type() != Type::kF32) d.refuse_form();
  d.need_operands(3, 3);
  d.instruction.out = d.target(0, result);
  d.instruction.in[0] = d.source(1, Type::kF32);
  d.instruction.in[1] = d.source(2, Type::kF32);
  d.instruction.step =
      result == Type::kF16x2 ? lanewise<&two_halves<Half>> : lanewise<&two_halves<Brain>>;
  d.finish();
}

void decode_tf32(Decoder& d) {
  const bool ties_away = d.take("rna");
  if (d.take_type() != Type::kF32 || (d.instruction.modifiers & ~kRelu) != 0) d.refuse_form();
  d.need_operands(2, 2);
  d.instruction.modifiers = ties_away ? 1 : 0;
  d.instruction.out = d.target(0, Type::kB32);
  d.instruction.in[0] = d.source(1, Type::kF32);
  d.instruction.step = lanewise<&to_tf32>;
  d.finish();
}

void decode_cvt(Decoder& d) {
  d.instruction.modifiers = take_float_modifiers(d);
  const int to_whole = d.take_one_of({"rni", "rzi", "rmi", "rpi"});
  if (to_whole >= 0) d.instruction.modifiers |= kToInteger | static_cast<std::uint32_t>(to_whole);
  const Type result = d.need_type();
  if (result == Type::kF16x2 || result == Type::kBf16x2) return decode_pair(d, result);
  if (result == Type::kTf32) return decode_tf32(d);
  const Type source = d.need_type();
  d.need_operands(2, 2);
  d.instruction.step = step_to(result, source);
  if (d.instruction.step == nullptr) d.refuse_form();
  d.instruction.out = d.target(d.operand(0), result, true);
  d.instruction.in[0] = d.source(d.operand(1), source, true);
  d.finish();
}

}  // namespace

void add_convert(Opcodes* opcodes) { opcodes->emplace("cvt", decode_cvt); }

}  // namespace sluice::cuda::ptx
