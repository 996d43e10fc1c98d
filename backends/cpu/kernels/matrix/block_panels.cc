// Products of many rows with matrices of 4 and 8 bits, the rows rounded to 8 bits block by block as
// in block_bytes.cc. Lanes are columns: a panel of them is arranged once for all rows, so that four
// bytes of a row, spread over all lanes, meet four places of each column.
//
//     a row:    for each block its step, what the shared zero point adds to its products, and the
//               sum of its numbers; then its bytes
//     a panel:  for each block the words of every column, in the order of B; then the scales of the
//               columns, and their zero points times scales if they have their own
//
// A word of B has 8 places of 4 bits. Its even ones are masked, its odd ones shifted, so a row has
// four even places, then four odd ones.
#include "kernels/matrix/block_panels.h"

#include <cstddef>

#include "core/transpose_lanes.h"
#include "kernels/bytes/four_bytes.h"
#include "kernels/matrix/block_rounding.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

// Sums of a block in integers and sums of all blocks in floats share the registers.
constexpr int kRows = kVectorRegisters == 32 ? 6 : 4;
constexpr int kVectors = kVectorRegisters == 32 ? 2 : 1;
constexpr int kColumns = kVectors * kLanes;
static_assert(kColumns <= 32, "rounded_panel_floats");

// ---- rows ---------------------------------------------------------------------------------------

/// What precedes the bytes of a block.
struct BlockHead {
  float step;
  std::int32_t correction;
  float sum;
};

SLUICE_CPU_INLINE std::int64_t row_block_bytes(const BlockMatrix& b) {
  return static_cast<std::int64_t>(sizeof(BlockHead)) + b.block;
}

/// Brings each eight bytes into the order of a word of B.
SLUICE_CPU_INLINE void part_even_from_odd(std::int8_t* bytes, std::int64_t count) {
  using Bytes = std::int8_t __attribute__((vector_size(16)));
  constexpr Bytes kOrder = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  for (std::int64_t i = 0; i < count; i += 16) {
    Bytes some;
    __builtin_memcpy(&some, bytes + i, sizeof some);
    some = shuffle(some, some, kOrder);
    __builtin_memcpy(bytes + i, &some, sizeof some);
  }
}

template <int kBits>
SLUICE_CPU_INLINE void round_blocks(const BlockMatrix& b, const float* a, std::int64_t k,
                                    float* row) {
  const int zero = (b.has_zeros() ? 0 : b.zero) + offset_of<kBits>(b);
  auto* to = reinterpret_cast<std::int8_t*>(row);
  for (std::int64_t p = 0; p < b.k; p += b.block, to += row_block_bytes(b)) {
    std::int8_t* bytes = to + sizeof(BlockHead);
    const RoundedBlock rounded =
        round_block(a + p, k - p < b.block ? k - p : b.block, b.block, bytes);
    if (kBits == 4) part_even_from_odd(bytes, b.block);
    const BlockHead head = {rounded.step, -zero * rounded.sum,
                            rounded.step * static_cast<float>(rounded.sum)};
    __builtin_memcpy(to, &head, sizeof head);
  }
}

// ---- panels -------------------------------------------------------------------------------------

/// Where the parts of a panel lie, in floats.
struct PanelForm {
  explicit PanelForm(const BlockMatrix& b)
      : words(b.block * b.bits / 32), block((words + (b.has_zeros() ? 2 : 1)) * kColumns) {}
  std::int64_t at(std::int64_t word) const {
    return word / words * block + word % words * kColumns;
  }
  std::int64_t words;  ///< of a block and column
  std::int64_t block;
};

/// The words of up to kLanes columns from `column` on; of those that are not there, zeros.
SLUICE_CPU_INLINE void arrange_words(const BlockMatrix& b, int flip, std::int64_t column,
                                     std::int64_t columns, float* to) {
  const PanelForm form(b);
  const std::int64_t bytes = b.k * b.bits / 8;
  const std::uint8_t* from = b.numbers + column * bytes;
  for (std::int64_t at = 0; at < bytes; at += kVectorBytes) {
    const std::int64_t left = bytes - at;
    VecI square[kLanes];
    SLUICE_CPU_UNROLL
    for (int j = 0; j < kLanes; ++j) {
      square[j] = VecI{};
      if (j >= columns) continue;
      const std::uint8_t* place = from + j * bytes + at;
      prefetch_to_l2(place + 4 * kVectorBytes);
      if (left >= kVectorBytes) {
        square[j] = load_int(place);
      } else {  // behind the last column there is no memory to read
        __builtin_memcpy(&square[j], place, static_cast<std::size_t>(left));
      }
    }
    transpose_rows<VecI>(square);
    const std::int64_t words = left < kVectorBytes ? left / 4 : kLanes;
    for (std::int64_t i = 0; i < words; ++i) {
      const VecI word = square[i] ^ broadcast_int(flip);
      __builtin_memcpy(to + form.at(at / 4 + i), &word, sizeof word);
    }
  }
}

/// The scales of the same columns, and their zero points times scales if `kHasZeros`.
template <int kBits, bool kHasZeros>
SLUICE_CPU_INLINE void arrange_scales(const BlockMatrix& b, std::int64_t column,
                                      std::int64_t columns, float* to) {
  const PanelForm form(b);
  const std::int64_t blocks = b.k / b.block;
  to += form.words * kColumns + (kHasZeros ? kColumns : 0);
  for (std::int64_t begin = 0; begin < blocks; begin += kLanes) {
    const int some = blocks - begin < kLanes ? static_cast<int>(blocks - begin) : kLanes;
    Vec square[kLanes];
    for (int j = 0; j < kLanes; ++j) {
      square[j] = Vec{};
      if (j >= columns) continue;
      const std::int64_t at = (column + j) * blocks + begin;
      square[j] = load_first(b.scales + at, some);
      if constexpr (kHasZeros) {
        float buffer[kZerosAtOnce + 1];
        square[j] *= load_first(read_zeros<kBits>(b, at, some, buffer), some);
      }
    }
    transpose_lanes(square);
    for (int i = 0; i < some; ++i) store(to + (begin + i) * form.block, square[i]);
  }
}

template <int kBits>
void arrange_panel(const BlockMatrix& b, std::int64_t column, std::int64_t columns, float* panel) {
  for (int v = 0; v < kVectors; ++v, panel += kLanes, column += kLanes, columns -= kLanes) {
    arrange_words(b, flip_of<kBits>(b), column, columns, panel);
    arrange_scales<kBits, false>(b, column, columns, panel);
    if (b.has_zeros()) arrange_scales<kBits, true>(b, column, columns, panel);
  }
}

// ---- products -----------------------------------------------------------------------------------

/// Adds the products of four bytes of a row and four numbers of each column.
template <int kBits>
SLUICE_CPU_INLINE VecI add_four(VecI sum, VecI numbers, VecI a) {
#if defined(__AVX512VNNI__) || !defined(__AVX2__)
  return multiply_add(sum, unsigned_bytes(numbers), signed_bytes(a));
#elif defined(__AVX512F__)
  if (kBits == 8) return multiply_add(sum, unsigned_bytes(numbers), signed_bytes(a));
  const __m512i pairs = _mm512_maddubs_epi16((__m512i)numbers, (__m512i)a);
  return sum + (VecI)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#else
  __m256i magnitudes = (__m256i)numbers, turned = (__m256i)a;
  if (kBits == 8) {
    magnitudes = _mm256_abs_epi8((__m256i)numbers);
    turned = _mm256_sign_epi8((__m256i)a, (__m256i)numbers);
  }
  const __m256i pairs = _mm256_maddubs_epi16(magnitudes, turned);
  return sum + (VecI)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#endif
}

SLUICE_CPU_INLINE VecI four_of(const std::int8_t* a) {
  return broadcast_four(reinterpret_cast<const std::uint8_t*>(a));
}

/// What the tiles of a panel share.
struct PanelArgs {
  const float* panel;
  std::int64_t blocks, words;
  bool has_zeros;
  std::int64_t row;  ///< bytes from one row to the next
  std::int64_t c_row, columns;
};

template <int kTile>
SLUICE_CPU_INLINE void store_tile(const PanelArgs& t, const Vec (&sums)[kTile][kVectors],
                                  float* c) {
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t left = t.columns - v * kLanes;
    const int width = left < 0 ? 0 : left < kLanes ? static_cast<int>(left) : kLanes;
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kTile; ++i) {
      store_first(c + i * t.c_row + v * kLanes, sums[i][v], width);
    }
  }
}

template <int kBits, int kTile>
void rounded_tile(const PanelArgs& t, const std::int8_t* a, float* c) {
  const float* b = t.panel;
  Vec sums[kTile][kVectors] = {};
  for (std::int64_t block = 0; block < t.blocks; ++block) {
    const std::int8_t* head = a;
    a += sizeof(BlockHead);
    VecI dots[kTile][kVectors];
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kTile; ++i) {
      const VecI correction = four_of(head + i * t.row + offsetof(BlockHead, correction));
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) dots[i][v] = correction;
    }
    for (std::int64_t word = 0; word < t.words; ++word, b += kColumns) {
      VecI numbers[kVectors];
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) numbers[v] = load_int(b + v * kLanes);
      SLUICE_CPU_UNROLL
      for (int part = 0; part < 8 / kBits; ++part, a += 4) {
        VecI some[kVectors];
        SLUICE_CPU_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          some[v] = kBits == 8 ? numbers[v] : numbers[v] >> (4 * part) & broadcast_int(0x0f0f0f0f);
        }
        SLUICE_CPU_UNROLL
        for (int i = 0; i < kTile; ++i) {
          const VecI four = four_of(a + i * t.row);
          SLUICE_CPU_UNROLL
          for (int v = 0; v < kVectors; ++v)
            dots[i][v] = add_four<kBits>(dots[i][v], some[v], four);
        }
      }
    }
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kTile; ++i) {
      const Vec step = (Vec)four_of(head + i * t.row);
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const Vec scale = load(b + v * kLanes) * step;
        sums[i][v] = fmadd(__builtin_convertvector(dots[i][v], Vec), scale, sums[i][v]);
      }
    }
    b += kColumns;
    if (!t.has_zeros) continue;
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kTile; ++i) {
      const Vec sum = (Vec)four_of(head + i * t.row + offsetof(BlockHead, sum));
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = fnmadd(load(b + v * kLanes), sum, sums[i][v]);
      }
    }
    b += kColumns;
  }
  store_tile(t, sums, c);
}

using Tile = void (*)(const PanelArgs&, const std::int8_t*, float*);

template <int kBits>
SLUICE_CPU_INLINE Tile find_rounded_tile(std::int64_t rows) {
  switch (rows) {
    case 1: return rounded_tile<kBits, 1>;
    case 2: return rounded_tile<kBits, 2>;
    case 3: return rounded_tile<kBits, 3>;
    case 5: return rounded_tile<kBits, kRows - 1>;
    case 6: return rounded_tile<kBits, kRows>;
    default: return rounded_tile<kBits, 4>;
  }
}

template <int kBits>
void multiply_bits(const BlockMatrix& b, std::int64_t begin, std::int64_t end, const float* rows,
                   std::int64_t count, float* c, std::int64_t c_row, float* panel) {
  const std::int64_t row = rounded_row_floats(b.k) * static_cast<std::int64_t>(sizeof(float));
  const auto* bytes = reinterpret_cast<const std::int8_t*>(rows);
  const std::int64_t tiles = (count + kRows - 1) / kRows;
  for (std::int64_t j = begin; j < end; j += kColumns) {
    const std::int64_t columns = end - j < kColumns ? end - j : kColumns;
    arrange_panel<kBits>(b, j, columns, panel);
    const PanelArgs args = {panel, b.k / b.block, PanelForm(b).words, b.has_zeros(), row,
                            c_row, columns};
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t first = count * t / tiles;
      const Tile tile = find_rounded_tile<kBits>(count * (t + 1) / tiles - first);
      tile(args, bytes + first * row, c + first * c_row + j);
    }
  }
}

}  // namespace

void round_row(const BlockMatrix& b, const float* a, std::int64_t k, float* row) {
  b.bits == 8 ? round_blocks<8>(b, a, k, row) : round_blocks<4>(b, a, k, row);
}

void multiply_rounded(const BlockMatrix& b, std::int64_t begin, std::int64_t end, const float* rows,
                      std::int64_t count, float* c, std::int64_t c_row, float* panel) {
  b.bits == 8 ? multiply_bits<8>(b, begin, end, rows, count, c, c_row, panel)
              : multiply_bits<4>(b, begin, end, rows, count, c, c_row, panel);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
