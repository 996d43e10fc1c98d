#include "kernels/bytes/byte_product.h"
#include "kernels/bytes/four_bytes.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

// As many rows as registers allow, counted as in byte_conv_tile.cc.
#if defined(__AVX512VNNI__)
constexpr int kRows = 6;
#elif defined(__AVX512F__)
constexpr int kRows = 5;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = kVectorRegisters == 32 ? 4 : 2;
constexpr int kWidth = kVectors * kLanes;

/// sum (a - za) * (b - zb) = sum a * b - za * (sum b - depth * zb) - zb * sum a. The sum of a
/// column comes with the term that both zero points share.
template <int kCount, int kUsed>
SLUICE_CPU_INLINE void store_sums(const ByteTile& t, const VecI (&sums)[kCount][kUsed]) {
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kUsed; ++v) {
    const int left = t.columns - v * kLanes;
    const VecI zeros = load_int(t.sums.column_zeros + v * kLanes);
    const VecI column = load_int(t.sums.column_sums + v * kLanes);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const VecI value = sums[i][v] - column * broadcast_int(t.sums.row_zeros[i]) -
                         zeros * broadcast_int(t.sums.row_sums[i]);
      std::int32_t* to = t.sums.c + i * t.c_row + v * kLanes;
      store_first(reinterpret_cast<float*>(to), (Vec)value, left < kLanes ? left : kLanes);
    }
  }
}

template <int kCount, int kUsed, typename Products>
void byte_tile(const ByteTile& t) {
  VecI sums[kCount][kUsed] = {};
  const std::uint8_t* a = t.a;
  const std::int8_t* b = t.b;
  const std::int64_t ahead = kCount <= kStreamRows ? kStreamAheadBytes : 0;
  for (std::int64_t g = 0; g < t.groups; ++g, a += kByteGroup, b += kWidth * kByteGroup) {
    typename Products::Bytes columns[kUsed];
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kUsed; ++v) {
      const std::int8_t* at = b + v * kLanes * kByteGroup;
      if constexpr (kCount <= kStreamRows) prefetch(at + ahead);
      columns[v] = Products::right(at);
    }
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const auto row = Products::left(a + i * t.a_row);
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kUsed; ++v) sums[i][v] = Products::add(sums[i][v], row, columns[v]);
    }
  }
  // A caller that wants integers scales them itself.
  if (t.sums.c != nullptr) return store_sums(t, sums);
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kUsed; ++v) {
    const int left = t.columns - v * kLanes;
    const int width = left < kLanes ? left : kLanes;
    const Vec scale = load(t.column_scales + v * kLanes);
    const VecI correction = load_int(t.corrections + v * kLanes);
    const Vec bias = t.bias == nullptr ? Vec{} : load_first(t.bias + v * kLanes, width);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const Vec sum = __builtin_convertvector(sums[i][v] - correction, Vec);
      const Vec factor = scale * broadcast(t.row_scales[i]);
      store_first(t.c + i * t.c_row + v * kLanes, fmadd(sum, factor, bias), width);
    }
  }
}

template <int kCount, typename Products>
ByteTileKernel tile_of(int columns) {
  const int vectors = (columns + kLanes - 1) / kLanes;
  if constexpr (kVectors == 4) {
    if (vectors == 4) return byte_tile<kCount, 4, Products>;
    if (vectors == 3) return byte_tile<kCount, 3, Products>;
  }
  return vectors == 2 ? byte_tile<kCount, 2, Products> : byte_tile<kCount, 1, Products>;
}

template <typename Products>
ByteTileKernel find_of(int rows, int columns) {
  if constexpr (kRows >= 6) {
    if (rows == 6) return tile_of<6, Products>(columns);
  }
  if constexpr (kRows >= 5) {
    if (rows == 5) return tile_of<5, Products>(columns);
  }
  switch (rows) {
    case 1: return tile_of<1, Products>(columns);
    case 2: return tile_of<2, Products>(columns);
    case 3: return tile_of<3, Products>(columns);
    default: return tile_of<4, Products>(columns);
  }
}

ByteTileKernel find(int rows, int columns, bool is_narrow) {
  return is_narrow ? find_of<NarrowBytes>(rows, columns) : find_of<AnyBytes>(rows, columns);
}

}  // namespace

extern const ByteTileSet kByteTiles;
const ByteTileSet kByteTiles = {kRows, kWidth, find, kNarrowIsFaster};

#if !defined(__AVX512VNNI__)

void round_row(const float* row, std::int64_t count, std::int64_t padded, std::uint8_t* bytes,
               float* scale) {
  Vec largest = {};
  Vec not_finite = {};  // NaN if any number is not finite
  std::int64_t i = 0;
  for (; i < count; i += kLanes) {
    const int width = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    const Vec x = load_first(row + i, width);
    largest = max(abs(x), largest);
    // x * 0 is NaN for an infinity or a NaN, and 0 otherwise.
    not_finite += x * broadcast(0.0F);
  }
  const float most = reduce_max(largest);
  *scale = most / 127 + reduce_add(not_finite);
  const Vec steps = broadcast(most > 0 && most <= kMostFinite ? 127 / most : 0);
  for (i = 0; i < count; i += kLanes) {
    const int width = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    const Vec x = load_first(row + i, width) * steps;
    const VecI rounded = to_int(round_small(min(broadcast(127.0F), max(broadcast(-127.0F), x))));
    // A byte is 128 more than the rounded number, so that it has no sign.
    std::int32_t whole[kLanes];
    const VecI shifted = rounded + broadcast_int(128);
    __builtin_memcpy(whole, &shifted, sizeof whole);
    for (int lane = 0; lane < width; ++lane)
      bytes[i + lane] = static_cast<std::uint8_t>(whole[lane]);
  }
  for (i = count; i < padded; ++i) bytes[i] = 128;
}

bool is_narrow_panel(const std::int8_t* b, std::int64_t count) {
  std::int32_t most = 0;
  for (std::int64_t i = 0; i < count; i += 2) {
    const std::int32_t first = b[i];
    const std::int32_t second = b[i + 1];
    const std::int32_t both = (first < 0 ? -first : first) + (second < 0 ? -second : second);
    most = both > most ? both : most;
  }
  return most <= kMostOfNarrowPair;
}

#endif

}  // namespace sluice::cpu::SLUICE_CPU_ISA
