#include "kernels/sequence/round_rows.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr float kMostByte = 127.0f;
constexpr float kLeastNormal = 0x1p-126f;
constexpr std::int32_t kInfinity = 0x7f800000;  // as bits; NaN is above

/// As bits, magnitudes are in the order of the numbers, with NaN the largest.
float scale_of(const float* x, std::int64_t size) {
  VecI most{};
  for (std::int64_t i = 0; i < size; i += kLanes) {
    const std::int64_t left = size - i;
    const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
    const VecI bits = (VecI)abs(load_first(x + i, lanes));
    most = bits > most ? bits : most;
  }
  std::int32_t largest = 0;
  for (int i = 0; i < kLanes; ++i) largest = most[i] > largest ? most[i] : largest;
  if (largest >= kInfinity) return __builtin_nanf("");
  float magnitude = 0;
  __builtin_memcpy(&magnitude, &largest, sizeof magnitude);
  const float scale = magnitude / kMostByte;
  return scale < kLeastNormal ? 0.0f : scale;
}

SLUICE_CPU_INLINE void store_bytes(std::int8_t* y, VecI numbers, int lanes) {
#if defined(__AVX512F__)
  if (lanes == kLanes) {
    return _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_cvtepi32_epi8((__m512i)numbers));
  }
#endif
  for (int i = 0; i < lanes; ++i) y[i] = static_cast<std::int8_t>(numbers[i]);
}

}  // namespace

void round_row(const float* x, std::int64_t size, std::int8_t* y) {
  const float scale = scale_of(x, size);
  __builtin_memcpy(y + size, &scale, sizeof scale);
  if (!(scale > 0)) {
    __builtin_memset(y, 0, static_cast<std::size_t>(size));
    return;
  }
  const Vec unit = broadcast(scale);
  for (std::int64_t i = 0; i < size; i += kLanes) {
    const std::int64_t left = size - i;
    const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
    // At most 127 and a part in 2^23 of it, so that no number leaves a byte.
    store_bytes(y + i, to_int(round_small(load_first(x + i, lanes) / unit)), lanes);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
