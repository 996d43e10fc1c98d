#include "kernels/convert/convert.h"

#include "core/simd.h"
#include "kernels/convert/half.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

template <typename T>
void widen(const void* from, std::int64_t count, float* to) {
  const auto* values = static_cast<const T*>(from);
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(values[i]);
}

void widen_half(const void* from, std::int64_t count, float* to) {
  const auto* values = static_cast<const Half*>(from);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load(values + i));
  if (i == count) return;
  // As a whole vector: the instruction keeps subnormal halves, which float_of flushes with
  // denormals.
  Half last[kLanes] = {};
  float wide[kLanes];
  const auto left = static_cast<std::size_t>(count - i);
  __builtin_memcpy(last, values + i, left * sizeof(Half));
  store(wide, load(last));
  __builtin_memcpy(to + i, wide, left * sizeof(float));
}

void widen_bf16(const void* from, std::int64_t count, float* to) {
  const auto* values = static_cast<const std::uint16_t*>(from);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(values[i]) << 16;
    __builtin_memcpy(to + i, &bits, sizeof bits);
  }
}

void narrow_to_half(const float* from, std::int64_t count, void* to) {
  auto* values = static_cast<Half*>(to);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_halves(values + i, load(from + i));
  for (; i < count; ++i) values[i] = half_of(from[i]);
}

/// To the nearest, ties to even. A NaN stays one: its quiet bit is set.
void narrow_to_bf16(const float* from, std::int64_t count, void* to) {
  auto* values = static_cast<std::uint16_t*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, from + i, sizeof bits);
    const std::uint32_t rounded = bits + 0x7fffU + (bits >> 16 & 1U);
    const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
    values[i] = static_cast<std::uint16_t>((is_nan ? bits | 0x400000U : rounded) >> 16);
  }
}

void narrow_to_double(const float* from, std::int64_t count, void* to) {
  auto* values = static_cast<double*>(to);
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<double>(from[i]);
}

void narrow_to_bool(const float* from, std::int64_t count, void* to) {
  auto* values = static_cast<std::uint8_t*>(to);
  for (std::int64_t i = 0; i < count; ++i) values[i] = from[i] != 0.0f ? 1 : 0;
}

/// Towards zero; the nearest integer of type T if it is out of range, 0 for NaN. `kLimit` is the
/// first float past the largest.
template <typename T>
SLUICE_CPU_INLINE T saturated(float x, float limit, T most, T least) {
  if (x != x) return 0;
  return x >= limit ? most : x < -limit ? least : static_cast<T>(x);
}

void narrow_to_i32(const float* from, std::int64_t count, void* to) {
  auto* values = static_cast<std::int32_t*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = saturated<std::int32_t>(from[i], 2147483648.0f, INT32_MAX, INT32_MIN);
  }
}

/// T is at most as wide as the 64-bit integer whose low bits it keeps.
template <typename T>
void narrow(const float* from, std::int64_t count, void* to) {
  auto* values = static_cast<T*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto whole =
        saturated<std::int64_t>(from[i], 9223372036854775808.0f, INT64_MAX, INT64_MIN);
    values[i] = static_cast<T>(whole);
  }
}

}  // namespace

void cut_to_floats(const double* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = from[i];
    const float nearest = static_cast<float>(x);
    const double back = static_cast<double>(nearest);
    std::uint32_t bits = bits_of(nearest);
    bits -= __builtin_fabs(back) > __builtin_fabs(x) ? 1 : 0;
    bits |= back == x || x != x ? 0 : 1;
    to[i] = float_from_bits(bits);
  }
}

void to_floats(Storage storage, const void* from, std::int64_t count, float* to) {
  switch (storage) {
    case Storage::kF32: return widen<float>(from, count, to);
    case Storage::kF16: return widen_half(from, count, to);
    case Storage::kBf16: return widen_bf16(from, count, to);
    case Storage::kF64: return widen<double>(from, count, to);
    case Storage::kBool:
    case Storage::kU8: return widen<std::uint8_t>(from, count, to);
    case Storage::kI8: return widen<std::int8_t>(from, count, to);
    case Storage::kU16: return widen<std::uint16_t>(from, count, to);
    case Storage::kI16: return widen<std::int16_t>(from, count, to);
    case Storage::kI32: return widen<std::int32_t>(from, count, to);
    case Storage::kI64: return widen<std::int64_t>(from, count, to);
  }
}

void from_floats(Storage storage, const float* from, std::int64_t count, void* to) {
  switch (storage) {
    case Storage::kF32: __builtin_memcpy(to, from, static_cast<std::size_t>(count) * 4); return;
    case Storage::kF16: return narrow_to_half(from, count, to);
    case Storage::kBf16: return narrow_to_bf16(from, count, to);
    case Storage::kF64: return narrow_to_double(from, count, to);
    case Storage::kBool: return narrow_to_bool(from, count, to);
    case Storage::kU8: return narrow<std::uint8_t>(from, count, to);
    case Storage::kI8: return narrow<std::int8_t>(from, count, to);
    case Storage::kU16: return narrow<std::uint16_t>(from, count, to);
    case Storage::kI16: return narrow<std::int16_t>(from, count, to);
    case Storage::kI32: return narrow_to_i32(from, count, to);
    case Storage::kI64: return narrow<std::int64_t>(from, count, to);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
