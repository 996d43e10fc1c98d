#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Element types that are computed in themselves, without a way through floats.
enum class Number : std::uint8_t { kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kF32, kF64 };
inline constexpr int kNumberCount = 10;

/// Operations on two elements. Integers wrap. kBoth to kAlike take bytes that are 0 or not, and
/// give 1 or 0, as comparisons do.
enum class TypedOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,        ///< cut towards zero
  kMod,        ///< of integers, with the sign of b
  kRemainder,  ///< with the sign of a
  kPower,      ///< not of f32; integers below 1 are cut to 0
  kMin,        ///< NaN if either is
  kMax,
  kAtMost,  ///< of two bounds; a NaN of b is no bound
  kAtLeast,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,
  kEqual,
  kLess,
  kLessOrEqual,
  kBoth,
  kEither,
  kUnlike,
  kAlike,
  kAbs,  ///< of a alone, as are those that follow
  kNeg,
  kSign,
  kRelu,
  kFloor,  ///< of f64, as are the next two
  kCeil,
  kRound,  ///< to the nearest integer, ties to even
  kInvert,
  kIsZero,
  kIsNan,          ///< of floats, as is the next one
  kIsInfinite,     ///< either infinity
  kIsF16Nan,       ///< of the bits of a float, which are a u16, as are the next three
  kIsF16Infinite,  ///< either infinity
  kIsBf16Nan,
  kIsBf16Infinite,  ///< either infinity
  kExp,             ///< of f64, as are those that follow (kernels/elements/double_functions.h)
  kLog,
  kReciprocal,
  kSigmoid,
  kSqrt,
  kTanh,
  kSin,
  kCos,
};

/// out[i] = a[i * a_step] op b[i * b_step]; a step is 0 or 1. `out` may be `a` or `b` where their
/// elements are as large and their step is 1.
using TypedLoop = void (*)(const void* a, std::int64_t a_step, const void* b, std::int64_t b_step,
                           void* out, std::int64_t count);

/// Null if the operation has no form for the type.
SLUICE_CPU_EACH_ISA(TypedLoop typed_loop(TypedOp op, Number type);)

/// Whether one of `count` integers of 1, 2, 4 or 8 bytes is 0.
SLUICE_CPU_EACH_ISA(bool has_zero(const void* data, std::int64_t element_bytes,
                                  std::int64_t count);)

/// out[i] = where[i * steps[0]] ? a[i * steps[1]] : b[i * steps[2]], of elements of 1, 2, 4 or 8
/// bytes.
using WhereLoop = void (*)(const std::uint8_t* where, const void* a, const void* b,
                           const std::int64_t* steps, void* out, std::int64_t count);
SLUICE_CPU_EACH_ISA(WhereLoop where_loop(std::int64_t element_bytes);)

/// Converts `count` numbers as Cast does: towards zero; too large ones to the nearest integer of 32
/// or 64 bits, of which shorter types and those without a sign keep the low bits; NaN to 0.
/// Positive ones become the nearest u64. To bool: 1 if not 0.
using ConvertLoop = void (*)(const void* from, void* to, std::int64_t count);
SLUICE_CPU_EACH_ISA(ConvertLoop convert_loop(Number from, Number to, bool to_bool);)

}  // namespace sluice::cpu
