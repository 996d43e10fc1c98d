#include "kernels/bytes/bytes.h"

#include "core/transpose_lanes.h"
#include "kernels/bytes/byte_vectors.h"
#include "kernels/conv/conv_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Converts one vector to integers of 8 or 16 bits; clamps before rounding, so that saturation is
/// exact. NaN becomes the lowest, with a sign and without.
template <int kBits>
SLUICE_CPU_INLINE VecI to_bytes(Vec x, const ByteScale& s) {
  constexpr int kCount = 1 << kBits;
  // The bound is in steps before the zero point is added.
  const auto low = static_cast<float>((s.has_sign ? -kCount / 2 : 0) - s.zero);
  const Vec steps = x / broadcast(s.scale);
  const Vec cut = min(broadcast(low + (kCount - 1)), max(steps, broadcast(low)));
  return to_nearest_int(cut) + broadcast_int(s.zero);
}

using Shorts = std::uint16_t __attribute__((vector_size(kLanes * 2)));

template <typename T>
SLUICE_CPU_INLINE void dequantize(const std::uint16_t* x, std::int64_t count,
                                  const ByteScale& scale, float* y) {
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = static_cast<float>(static_cast<T>(x[i]) - scale.zero) * scale.scale;
  }
}

using Sixteen = std::uint8_t __attribute__((vector_size(kBlock)));

SLUICE_CPU_INLINE Sixteen load_sixteen(const std::uint8_t* p) {
  Sixteen v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

}  // namespace

#if defined(__AVX512BW__)

namespace {

/// Sixty-four lookups at a time, where the processor can permute bytes of two registers.
__attribute__((target("avx512vbmi"))) std::int64_t map_whole_vectors(const std::uint8_t* table,
                                                                     const std::uint8_t* x,
                                                                     std::int64_t count,
                                                                     std::uint8_t* y) {
  const __m512i quarters[4] = {_mm512_loadu_si512(table), _mm512_loadu_si512(table + 64),
                               _mm512_loadu_si512(table + 128), _mm512_loadu_si512(table + 192)};
  std::int64_t i = 0;
  for (; i + 64 <= count; i += 64) {
    const __m512i index = _mm512_loadu_si512(x + i);
    const __m512i low = _mm512_permutex2var_epi8(quarters[0], index, quarters[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarters[2], index, quarters[3]);
    _mm512_storeu_si512(y + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high));
  }
  return i;
}

}  // namespace

void map_bytes(const std::uint8_t* table, const std::uint8_t* x, std::int64_t count,
               std::uint8_t* y) {
  // Asked once: code of one instruction set runs on processors with more of them.
  static const bool has_permutation = __builtin_cpu_supports("avx512vbmi");
  std::int64_t i = has_permutation ? map_whole_vectors(table, x, count, y) : 0;
  for (; i < count; ++i) y[i] = table[x[i]];
}

#else

void map_bytes(const std::uint8_t* table, const std::uint8_t* x, std::int64_t count,
               std::uint8_t* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = table[x[i]];
}

#endif

void quantize_bytes(const float* x, std::int64_t count, const ByteScale& scale, std::uint8_t* y) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_bytes(y + i, to_bytes<8>(load(x + i), scale));
  if (i == count) return;
  std::uint8_t last[kLanes];
  store_bytes(last, to_bytes<8>(load_first(x + i, static_cast<int>(count - i)), scale));
  for (std::int64_t lane = 0; i + lane < count; ++lane) y[i + lane] = last[lane];
}

void range_of(const float* x, std::int64_t count, float* least, float* largest) {
  // Zero is among the numbers, so both ends start there. `min` and `max` drop a NaN that is their
  // first operand.
  constexpr int kChains = 4;  // hide the latency of one
  Vec low[kChains] = {};
  Vec high[kChains] = {};
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
    SLUICE_CPU_UNROLL
    for (int c = 0; c < kChains; ++c) {
      const Vec v = load(x + i + c * kLanes);
      low[c] = min(v, low[c]);
      high[c] = max(v, high[c]);
    }
  }
  for (; i < count; i += kLanes) {
    const Vec v = load_first(x + i, static_cast<int>(count - i < kLanes ? count - i : kLanes));
    low[0] = min(v, low[0]);
    high[0] = max(v, high[0]);
  }
  *least = reduce_min(min(min(low[0], low[1]), min(low[2], low[3])));
  *largest = reduce_max(max(max(high[0], high[1]), max(high[2], high[3])));
}

void dequantize_bytes(const std::uint8_t* x, std::int64_t count, const ByteScale& scale, float* y) {
  const VecI zero = broadcast_int(scale.zero);
  const Vec step = broadcast(scale.scale);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VecI v = scale.has_sign ? widen_signed_bytes(x + i) : widen_bytes(x + i);
    store(y + i, __builtin_convertvector(v - zero, Vec) * step);
  }
  for (; i < count; ++i) {
    const int v = scale.has_sign ? static_cast<std::int8_t>(x[i]) : x[i];
    y[i] = static_cast<float>(v - scale.zero) * scale.scale;
  }
}

void quantize_shorts(const float* x, std::int64_t count, const ByteScale& scale, std::uint16_t* y) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto n = static_cast<int>(count - i < kLanes ? count - i : kLanes);
    const VecI whole = to_bytes<16>(load_first(x + i, n), scale);
    const Shorts shorts = __builtin_convertvector(whole, Shorts);
    __builtin_memcpy(y + i, &shorts, static_cast<std::size_t>(n) * sizeof(std::uint16_t));
  }
}

void dequantize_shorts(const std::uint16_t* x, std::int64_t count, const ByteScale& scale,
                       float* y) {
  if (scale.has_sign) {
    dequantize<std::int16_t>(x, count, scale, y);
  } else {
    dequantize<std::uint16_t>(x, count, scale, y);
  }
}

void pool_byte_row(const BytePoolRow& t) {
  for (std::int64_t c = 0; c < t.output_cols; ++c) {
    // The sixteen channels of a pixel are one vector; bytes have no sign, so 0 is below all.
    const std::int64_t first = c * t.stride - t.pad_begin;
    Sixteen most = {};
    for (std::int64_t k = 0; k < t.kernel_cols; ++k) {
      const std::int64_t column = first + k * t.dilation;
      if (column < 0 || column >= t.input_cols) continue;
      for (std::int64_t r = 0; r < t.rows; ++r) {
        const Sixteen v = load_sixteen(t.input + r * t.input_row + column * kBlock);
        most = v > most ? v : most;
      }
    }
    __builtin_memcpy(t.output + c * kBlock, &most, sizeof most);
  }
}

void byte_block_to_planes(const std::uint8_t* block, std::int64_t pixels, std::int64_t channels,
                          std::uint8_t* planes, std::int64_t plane) {
  std::int64_t p = 0;
  for (; p + kBlock <= pixels; p += kBlock) {
    Sixteen rows[kBlock];
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kBlock; ++i) rows[i] = load_sixteen(block + (p + i) * kBlock);
    transpose_rows<Sixteen>(rows);
    for (std::int64_t c = 0; c < channels; ++c) {
      __builtin_memcpy(planes + c * plane + p, rows + c, sizeof(Sixteen));
    }
  }
  for (; p < pixels; ++p) {
    for (std::int64_t c = 0; c < channels; ++c) planes[c * plane + p] = block[p * kBlock + c];
  }
}

void planes_to_byte_block(const std::uint8_t* planes, std::int64_t plane, std::int64_t channels,
                          std::int64_t pixels, std::uint8_t* block) {
  std::int64_t p = 0;
  for (; p + kBlock <= pixels; p += kBlock) {
    Sixteen rows[kBlock];
    for (std::int64_t c = 0; c < kBlock; ++c) {
      rows[c] = c < channels ? load_sixteen(planes + c * plane + p) : Sixteen{};
    }
    transpose_rows<Sixteen>(rows);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kBlock; ++i) {
      __builtin_memcpy(block + (p + i) * kBlock, rows + i, sizeof(Sixteen));
    }
  }
  for (; p < pixels; ++p) {
    for (std::int64_t c = 0; c < kBlock; ++c) {
      block[p * kBlock + c] = c < channels ? planes[c * plane + p] : std::uint8_t{0};
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
