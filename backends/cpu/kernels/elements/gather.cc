#include "kernels/elements/gather.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Keeps the compiler from gathering vectors, which is slower than as many loads.
SLUICE_CPU_INLINE std::int64_t by_itself(std::int64_t x) {
  asm("" : "+r"(x));
  return x;
}

template <typename T, typename Index>
std::int64_t gather(const GatherLine& line) {
  const auto* data = static_cast<const T*>(line.data);
  const auto* indices = static_cast<const Index*>(line.indices);
  auto* out = static_cast<T*>(line.out);
  std::int64_t outside = -1;
  for (std::int64_t i = 0; i < line.count; ++i) {
    const std::int64_t given = indices[i];
    // Without a branch: which indices are negative is anyone's guess.
    const std::int64_t index = by_itself(given + ((given >> 63) & line.length));
    if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(line.length)) {
      if (outside < 0) outside = i;
      continue;
    }
    out[i] = data[index * line.stride + i * line.step];
  }
  return outside;
}

template <typename T>
GatherLoop of_element(std::int64_t index_bytes) {
  return index_bytes == 8 ? gather<T, std::int64_t> : gather<T, std::int32_t>;
}

}  // namespace

GatherLoop gather_loop(std::int64_t element_bytes, std::int64_t index_bytes) {
  switch (element_bytes) {
    case 1: return of_element<std::uint8_t>(index_bytes);
    case 2: return of_element<std::uint16_t>(index_bytes);
    case 4: return of_element<std::uint32_t>(index_bytes);
    case 8: return of_element<std::uint64_t>(index_bytes);
    default: return nullptr;
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
