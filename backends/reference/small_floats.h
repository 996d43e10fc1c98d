// Floats of 8 and 4 bits, and numbers of 4 and 2 bits that share bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sluice/backend.hpp"

namespace sluice::reference {

/// The layout of a float of at most 8 bits: sign, exponent, mantissa.
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  int largest;  ///< bits of the largest finite value
  int nan;      ///< bits that NaN becomes
  bool has_infinity = false;
  bool has_negative_zero = true;
  bool always_saturates = false;  ///< there is neither infinity nor NaN

  /// Formats that OCP's "8-bit Floating Point Specification" (E4M3, E5M2, FNUZ variants) and
  /// "Microscaling Formats" (E2M1) define; nullopt for other element types.
  static std::optional<SmallFloat> of(sluice_element_type type);

  float decode(std::uint8_t bits) const;
  /// Nearest, ties to even. What is too large becomes the largest value if `saturates`, else
  /// infinity or NaN, whichever there is.
  std::uint8_t encode(float value, bool saturates) const;
};

/// Powers of two: 2^(bits - 127), 255 for NaN.
float decode_e8m0(std::uint8_t bits);
/// `rounding` is "up", "down" or "nearest"; magnitudes only.
std::uint8_t encode_e8m0(float value, bool saturates, std::string_view rounding);

/// Elements of `bits` bits each (4 or 2), the first in the lowest bits.
class PackedBits {
 public:
  PackedBits(std::span<std::byte> bytes, int bits) : bytes_(bytes), bits_(bits) {}

  std::uint8_t get(std::size_t index) const;
  void set(std::size_t index, std::uint8_t value) const;
  std::byte* bytes() const { return bytes_.data(); }

 private:
  int shift(std::size_t index) const { return static_cast<int>(index % per_byte()) * bits_; }
  std::size_t per_byte() const { return static_cast<std::size_t>(8 / bits_); }

  std::span<std::byte> bytes_;
  int bits_;
};

}  // namespace sluice::reference
