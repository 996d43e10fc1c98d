#include "kernels/elements/gather.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Keeps the compiler from gathering vectors, which is slower than as many loads.
SLUICE_CPU_INLINE std::int64_t by_itself(std::int64_t x) {
  asm("" : "+r"(x));
  return x;
}

constexpr std::int64_t kChunk = 128;  ///< indices that are looked at together, in vectors

/// Without a branch: which indices are negative is anyone's guess.
SLUICE_CPU_INLINE std::int64_t from_front(std::int64_t given, std::int64_t length) {
  return given + ((given >> 63) & length);
}

/// Elements [begin, end), of which some index is outside. Returns the first, or -1.
template <typename T, typename Index>
std::int64_t gather_checked(const GatherLine& line, std::int64_t begin, std::int64_t end) {
  std::int64_t outside = -1;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t index = from_front(static_cast<const Index*>(line.indices)[i], line.length);
    if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(line.length)) {
      if (outside < 0) outside = i;
      continue;
    }
    static_cast<T*>(line.out)[i] =
        static_cast<const T*>(line.data)[index * line.stride + i * line.step];
  }
  return outside;
}

template <typename T, typename Index>
std::int64_t gather(const GatherLine& line) {
  const auto* indices = static_cast<const Index*>(line.indices);
  const std::int64_t length = line.length;
  std::int64_t outside = -1;
  for (std::int64_t begin = 0; begin < line.count; begin += kChunk) {
    const std::int64_t count = line.count - begin < kChunk ? line.count - begin : kChunk;
    std::int64_t places[kChunk];
    std::uint64_t signs = 0;  // of a place before the first, or of what is left behind it
    for (std::int64_t i = 0; i < count; ++i) {
      places[i] = from_front(indices[begin + i], length);
      const auto place = static_cast<std::uint64_t>(places[i]);
      signs |= place | (static_cast<std::uint64_t>(length - 1) - place);
    }
    if ((signs >> 63) != 0) {
      const std::int64_t found = gather_checked<T, Index>(line, begin, begin + count);
      if (found >= 0 && outside < 0) outside = found;
      continue;
    }
    const auto* data = static_cast<const T*>(line.data) + begin * line.step;
    auto* out = static_cast<T*>(line.out) + begin;
    if (line.stride == 1 && line.step == 0) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = data[by_itself(places[i])];
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        out[i] = data[by_itself(places[i] * line.stride) + i * line.step];
      }
    }
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
