// Element types of PTX instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::cuda::ptx {

enum class Type : std::uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kTf32,
  kF32,
  kF64,
};

/// Spaces of memory; kGeneric: the address says which.
enum class Space : std::uint8_t { kGeneric, kGlobal, kShared, kLocal, kParameter, kConstant };

/// "u32" -> kU32; kNone for another word.
Type parse_type(std::string_view word);
std::string_view type_name(Type type);

/// 0 for kPred and kNone.
std::size_t size_of(Type type);
bool is_signed(Type type);
bool is_float(Type type);
/// Whether a register of the type takes 8 bytes per lane; others take 4.
inline bool is_wide(Type type) { return size_of(type) == 8; }

}  // namespace sluice::cuda::ptx
