#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// How numbers lie in memory where they are computed as floats.
enum class Storage : std::uint8_t {
  kF32,
  kF16,
  kBf16,
  kF64,
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kI32,
  kI64,
};

inline constexpr std::int64_t storage_bytes(Storage storage) {
  switch (storage) {
    case Storage::kBool:
    case Storage::kU8:
    case Storage::kI8: return 1;
    case Storage::kF16:
    case Storage::kBf16:
    case Storage::kU16:
    case Storage::kI16: return 2;
    case Storage::kF32:
    case Storage::kI32: return 4;
    case Storage::kF64:
    case Storage::kI64: return 8;
  }
  return 0;
}

/// Rounds each of `count` numbers to the nearest float. `from` and `to` do not overlap.
SLUICE_CPU_EACH_ISA(void to_floats(Storage storage, const void* from, std::int64_t count,
                                   float* to);)

/// Rounds floats to `storage`: to the nearest float of that type, to "not 0", or towards zero.
/// Integers of 32 and 64 bits saturate, NaN becomes 0; shorter ones keep the low bits of the 64-bit
/// integer.
SLUICE_CPU_EACH_ISA(void from_floats(Storage storage, const float* from, std::int64_t count,
                                     void* to);)

/// Cuts doubles to floats whose last bit is set if anything was cut: rounding those to 16 bits
/// gives what rounding the doubles at once does. NaN stays.
SLUICE_CPU_EACH_ISA(void cut_to_floats(const double* from, std::int64_t count, float* to);)

}  // namespace sluice::cpu
