#include "kernels/bytes/wide_bytes.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr int kBytes = SLUICE_CPU_VECTOR_BYTES;

using Shorts = std::int16_t __attribute__((vector_size(kBytes)));

}  // namespace

void widen_left(const std::uint8_t* bytes, std::int64_t count, std::uint16_t* wide) {
  for (std::int64_t i = 0; i < count; ++i) wide[i] = bytes[i];
}

void widen_panel(const std::int8_t* bytes, std::int64_t count, std::int16_t* wide) {
  const VecI lower = broadcast_int(0xffff);
  for (std::int64_t i = 0; i < count; i += kBytes) {
    Shorts pairs;
    __builtin_memcpy(&pairs, bytes + i, sizeof pairs);
    const auto even = (VecI)((pairs << 8) >> 8);  // the first and third of each four
    const auto odd = (VecI)(pairs >> 8);          // the second and fourth
    const VecI first = (even & lower) | (odd << 16);
    const VecI last = ((even >> 16) & lower) | (odd & ~lower);
    __builtin_memcpy(wide + i, &first, sizeof first);
    __builtin_memcpy(wide + i + kBytes / 2, &last, sizeof last);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
