#pragma once

// Rows that are rounded to 8 bits block by block, and the numbers of 4 and 8 bits that multiply
// their bytes. Included by kernel sources only.

#include "kernels/matrix/block_numbers.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

inline constexpr int kVectorBytes = SLUICE_CPU_VECTOR_BYTES;

/// Whether bytes of B are multiplied with a sign: AVX2 adds products of unlike signs in 16 bits,
/// which hold two of 128 * 127.
#if defined(__AVX2__) && !defined(__AVX512F__)
inline constexpr bool kIsSigned = true;
#else
inline constexpr bool kIsSigned = false;
#endif

/// The kernels multiply numbers of B that are larger by this offset.
template <int kBits>
SLUICE_CPU_INLINE int offset_of(const BlockMatrix& b) {
  const int half = 1 << (kBits - 1);
  return (b.has_sign ? half : 0) - (kBits == 8 && kIsSigned ? half : 0);
}

/// The bits of a byte to flip, so that its numbers are those larger ones.
template <int kBits>
SLUICE_CPU_INLINE int flip_of(const BlockMatrix& b) {
  if (kBits == 4) return b.has_sign ? 0x88888888 : 0;
  return b.has_sign == kIsSigned ? 0 : static_cast<int>(0x80808080);
}

/// The numbers of a block are its bytes times `step`, which is NaN if one of them is not finite.
struct RoundedBlock {
  float step;
  std::int32_t sum;  ///< of the bytes
};

/// Rounds up to `count` numbers, a whole number of vectors with zeros behind them.
SLUICE_CPU_INLINE RoundedBlock round_block(const float* a, std::int64_t given, std::int64_t count,
                                           std::int8_t* bytes) {
  Vec largest = {};
  Vec not_finite = {};  // NaN if a number is not finite
  for (std::int64_t p = 0; p < given; p += kLanes) {
    const int width = given - p < kLanes ? static_cast<int>(given - p) : kLanes;
    const Vec x = load_first(a + p, width);
    largest = max(abs(x), largest);
    not_finite += x * broadcast(0.0F);
  }
  const float most = reduce_max(largest);
  const Vec steps = broadcast(most > 0 && most <= kMostFinite ? 127 / most : 0);
  VecI sums = {};
  for (std::int64_t p = 0; p < count; p += kLanes) {
    const std::int64_t left = given - p;
    const int width = left < 0 ? 0 : left < kLanes ? static_cast<int>(left) : kLanes;
    const Vec x = load_first(a + p, width) * steps;
    const Vec bounded = min(broadcast(127.0F), max(broadcast(-127.0F), x));
    const VecI rounded = to_nearest_int(bounded);
    store_bytes(reinterpret_cast<std::uint8_t*>(bytes + p), rounded);
    sums += rounded;
  }
  std::int32_t sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return {most / 127 + reduce_add(not_finite), sum};
}

inline constexpr std::int64_t kZerosAtOnce = 64;

/// Up to kZerosAtOnce zero points from number `at` on, as floats, somewhere in `buffer`.
template <int kBits>
SLUICE_CPU_INLINE const float* read_zeros(const BlockMatrix& b, std::int64_t at, std::int64_t count,
                                          float* buffer) {
  if (b.float_zeros != nullptr) return b.float_zeros + at;
  const std::int64_t skipped = kBits == 4 ? at % 2 : 0;  // the lower number of its byte
  const std::uint8_t* from = b.zeros + (at - skipped) * kBits / 8;
  const auto numbers = BlockNumbers<kBits>::of(false, 0);
  std::int64_t i = 0;
  for (; i + kBlockUnit <= count; i += kBlockUnit) {
    store_in_order<kBits>(BlockNumbers<kBits>::expand(numbers, from + i * kBits / 8), buffer + i);
  }
  for (; i < count + skipped; ++i) buffer[i] = zero_at<kBits>(b, at - skipped + i);
  return buffer + skipped;
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
