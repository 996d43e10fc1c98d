#include "weights/gguf/block_formats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "ir/numbers/short_float.h"

namespace sluice::weights {
namespace {

using ir::ElementType;

constexpr std::int64_t kMaxGroups = 16;  // of one block
constexpr std::int64_t kMaxSize = 256;

float half_at(const std::uint8_t* bytes) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return ir::widen_f16(bits);
}

/// 16 bytes of 32 numbers: the low halves are the first 16.
void split_halves(const std::uint8_t* packed, std::uint8_t* numbers) {
  for (int i = 0; i < 16; ++i) {
    numbers[i] = packed[i] & 15U;
    numbers[i + 16] = packed[i] >> 4U;
  }
}

/// The fifth bits of 32 numbers.
void add_fifth_bits(const std::uint8_t* bits, std::uint8_t* numbers) {
  for (int i = 0; i < 32; ++i) {
    numbers[i] = static_cast<std::uint8_t>(numbers[i] | ((bits[i / 8] >> (i % 8)) & 1U) << 4U);
  }
}

void subtract(std::uint8_t* numbers, int count, int zero) {
  for (int i = 0; i < count; ++i) numbers[i] = static_cast<std::uint8_t>(numbers[i] - zero);
}

void unpack_q4_0(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float*) {
  scales[0] = half_at(block);
  split_halves(block + 2, numbers);
  subtract(numbers, 32, 8);
}

void unpack_q4_1(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float* leasts) {
  scales[0] = half_at(block);
  leasts[0] = -half_at(block + 2);
  split_halves(block + 4, numbers);
}

void unpack_q5_0(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float*) {
  scales[0] = half_at(block);
  split_halves(block + 6, numbers);
  add_fifth_bits(block + 2, numbers);
  subtract(numbers, 32, 16);
}

void unpack_q5_1(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float* leasts) {
  scales[0] = half_at(block);
  leasts[0] = -half_at(block + 2);
  split_halves(block + 8, numbers);
  add_fifth_bits(block + 4, numbers);
}

void unpack_q8_0(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float*) {
  scales[0] = half_at(block);
  std::memcpy(numbers, block + 2, 32);
}

/// Eight scales and eight leasts of 6 bits in 12 bytes: those of the last four groups have their
/// two upper bits in the bytes of the first four.
void unpack_k_scales(const std::uint8_t* block, float* scales, float* leasts) {
  const float scale = half_at(block);
  const float least = half_at(block + 2);
  const std::uint8_t* packed = block + 4;
  for (int i = 0; i < 8; ++i) {
    unsigned s = packed[i] & 63U;
    unsigned m = packed[(i + 4) % 12] & 63U;
    if (i >= 4) {
      s = (packed[i + 4] & 15U) | packed[i - 4] >> 6U << 4U;
      m = packed[i + 4] >> 4U | packed[i] >> 6U << 4U;
    }
    scales[i] = scale * static_cast<float>(s);
    leasts[i] = least * static_cast<float>(m);
  }
}

void unpack_q4_k(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float* leasts) {
  unpack_k_scales(block, scales, leasts);
  const std::uint8_t* packed = block + 16;
  for (int i = 0; i < 128; ++i) {
    const int at = i / 32 * 64 + i % 32;
    numbers[at] = packed[i] & 15U;
    numbers[at + 32] = packed[i] >> 4U;
  }
}

void unpack_q5_k(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float* leasts) {
  unpack_k_scales(block, scales, leasts);
  const std::uint8_t* fifths = block + 16;
  const std::uint8_t* packed = block + 48;
  for (int i = 0; i < 128; ++i) {
    const int half = i / 32 * 2;  // of 32 numbers: its bit in `fifths`
    const int at = half * 32 + i % 32;
    const unsigned bits = fifths[i % 32];
    numbers[at] = static_cast<std::uint8_t>((packed[i] & 15U) | ((bits >> half) & 1U) << 4U);
    numbers[at + 32] =
        static_cast<std::uint8_t>(packed[i] >> 4U | ((bits >> (half + 1)) & 1U) << 4U);
  }
}

void unpack_q6_k(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float*) {
  const std::uint8_t* lows = block;
  const std::uint8_t* highs = block + 128;
  const float scale = half_at(block + 208);
  for (int i = 0; i < 16; ++i) {
    scales[i] = scale * static_cast<float>(static_cast<std::int8_t>(block[192 + i]));
  }
  for (int i = 0; i < 256; ++i) {
    // Halves of 128 numbers; a byte of `lows` has those of places i and i + 64, one of `highs`
    // those of i, i + 32, i + 64 and i + 96.
    const int half = i / 128;
    const int at = i % 128;
    const unsigned low = lows[half * 64 + at % 64] >> (at / 64 * 4) & 15U;
    const unsigned high = highs[half * 32 + at % 32] >> (at / 32 * 2) & 3U;
    numbers[i] = static_cast<std::uint8_t>(low | high << 4U);
  }
  subtract(numbers, 256, 32);
}

/// A number of two bits: 32 bytes of `packed` are 128 numbers, the lowest bits the first 32.
unsigned two_bits_at(const std::uint8_t* packed, int place) {
  return packed[place / 128 * 32 + place % 32] >> (place % 128 / 32 * 2) & 3U;
}

void unpack_q2_k(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float* leasts) {
  const float scale = half_at(block + 80);
  const float least = half_at(block + 82);
  for (int i = 0; i < 16; ++i) {
    scales[i] = scale * static_cast<float>(block[i] & 15U);
    leasts[i] = least * static_cast<float>(block[i] >> 4U);
  }
  for (int i = 0; i < 256; ++i) numbers[i] = static_cast<std::uint8_t>(two_bits_at(block + 16, i));
}

/// Sixteen scales of 6 bits, less 32, in 12 bytes: the lower halves in the first eight.
void unpack_q3_k(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float*) {
  const std::uint8_t* packed = block + 96;
  const float scale = half_at(block + 108);
  for (int i = 0; i < 16; ++i) {
    const unsigned low = packed[i % 8] >> (i / 8 * 4) & 15U;
    const unsigned high = packed[8 + i % 4] >> (i / 4 * 2) & 3U;
    scales[i] = scale * static_cast<float>(static_cast<int>(low | high << 4U) - 32);
  }
  // The third bit of a number, less 4: a byte has those of eight runs of 32.
  for (int i = 0; i < 256; ++i) {
    const unsigned third = block[i % 32] >> (i / 32) & 1U;
    numbers[i] = static_cast<std::uint8_t>(two_bits_at(block + 32, i) | third << 2U);
  }
  subtract(numbers, 256, 4);
}

/// What four bits stand for, doubled where they are floats.
using Values = std::array<std::int8_t, 16>;
constexpr Values kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};
constexpr Values kFp4Values = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// 16 bytes of 32 numbers.
void look_up(const std::uint8_t* packed, const Values& values, std::uint8_t* numbers) {
  split_halves(packed, numbers);
  for (int i = 0; i < 32; ++i) numbers[i] = static_cast<std::uint8_t>(values[numbers[i]]);
}

void unpack_iq4_nl(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float*) {
  scales[0] = half_at(block);
  look_up(block + 2, kIq4Values, numbers);
}

/// Eight scales of 6 bits, less 32: the upper two bits of all in the first two bytes.
void unpack_iq4_xs(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float*) {
  const float scale = half_at(block);
  for (int i = 0; i < 8; ++i) {
    const unsigned low = block[4 + i / 2] >> (i % 2 * 4) & 15U;
    const unsigned high = block[2 + i / 4] >> (i % 4 * 2) & 3U;
    scales[i] = scale * static_cast<float>(static_cast<int>(low | high << 4U) - 32);
    look_up(block + 8 + i * 16, kIq4Values, numbers + i * 32);
  }
}

/// A scale is a power of two, of which half is taken.
void unpack_mxfp4(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float*) {
  scales[0] = std::ldexp(1.0F, block[0] - 128);
  look_up(block + 1, kFp4Values, numbers);
}

constexpr std::array<BlockFormat, 13> kFormats = {{
    {2, "Q4_0", 32, 18, 32, ElementType::kI4, false, unpack_q4_0},
    {3, "Q4_1", 32, 20, 32, ElementType::kU4, true, unpack_q4_1},
    {6, "Q5_0", 32, 22, 32, ElementType::kI8, false, unpack_q5_0},
    {7, "Q5_1", 32, 24, 32, ElementType::kU8, true, unpack_q5_1},
    {8, "Q8_0", 32, 34, 32, ElementType::kI8, false, unpack_q8_0},
    {10, "Q2_K", 256, 84, 16, ElementType::kU4, true, unpack_q2_k},
    {11, "Q3_K", 256, 110, 16, ElementType::kI4, false, unpack_q3_k},
    {12, "Q4_K", 256, 144, 32, ElementType::kU4, true, unpack_q4_k},
    {13, "Q5_K", 256, 176, 32, ElementType::kU8, true, unpack_q5_k},
    {14, "Q6_K", 256, 210, 16, ElementType::kI8, false, unpack_q6_k},
    {20, "IQ4_NL", 32, 18, 32, ElementType::kI8, false, unpack_iq4_nl},
    {23, "IQ4_XS", 256, 136, 32, ElementType::kI8, false, unpack_iq4_xs},
    {39, "MXFP4", 32, 17, 32, ElementType::kI8, false, unpack_mxfp4},
}};

/// number * scale - least as (number - zero) * scale. A group without a scale is a constant, which
/// numbers of 0 and a zero point of 1 give.
float zero_of(float& scale, float least, std::uint8_t* numbers, std::int64_t group) {
  const float zero = least / scale;
  if (std::isfinite(zero)) return zero;
  scale = least;
  std::fill_n(numbers, group, std::uint8_t{0});
  return 1;
}

void write_numbers(const BlockFormat& format, const std::uint8_t* numbers, std::byte* to) {
  if (ir::element_bits(format.element) == 8) {
    std::memcpy(to, numbers, static_cast<std::size_t>(format.size));
    return;
  }
  for (std::int64_t i = 0; i < format.size / 2; ++i) {
    to[i] = static_cast<std::byte>((numbers[2 * i] & 15U) | numbers[2 * i + 1] << 4U);
  }
}

}  // namespace

const BlockFormat* find_block_format(std::uint32_t type) {
  const auto* found = std::ranges::find(kFormats, type, &BlockFormat::type);
  return found == kFormats.end() ? nullptr : found;
}

Blocks read_blocks(const BlockFormat& format, std::int64_t rows, std::int64_t columns,
                   const Bytes& data) {
  const std::int64_t num_blocks = rows * (columns / format.size);
  const std::int64_t groups = format.size / format.group;
  const std::int64_t block_bytes = format.size * ir::element_bits(format.element) / 8;
  const ir::Type scale_type =
      ir::Type::tensor(ElementType::kF32, ir::Shape{rows, columns / format.group});
  MutableBytes numbers(static_cast<std::size_t>(num_blocks * block_bytes));
  MutableBytes scales(static_cast<std::size_t>(num_blocks * groups) * sizeof(float));
  MutableBytes zeros(format.has_least ? scales.view().size() : 0);
  std::array<std::uint8_t, kMaxSize> unpacked = {};
  std::array<float, kMaxGroups> scale = {};
  std::array<float, kMaxGroups> least = {};
  const std::size_t scale_bytes = static_cast<std::size_t>(groups) * sizeof(float);
  for (std::int64_t i = 0; i < num_blocks; ++i) {
    const auto* block = reinterpret_cast<const std::uint8_t*>(data.data()) + i * format.bytes;
    format.unpack(block, unpacked.data(), scale.data(), least.data());
    for (std::int64_t g = 0; format.has_least && g < groups; ++g) {
      const auto at = static_cast<std::size_t>(g);
      least[at] = zero_of(scale[at], least[at], unpacked.data() + g * format.group, format.group);
    }
    write_numbers(format, unpacked.data(), numbers.view().data() + i * block_bytes);
    const std::size_t place = static_cast<std::size_t>(i) * scale_bytes;
    std::memcpy(scales.view().data() + place, scale.data(), scale_bytes);
    if (format.has_least) std::memcpy(zeros.view().data() + place, least.data(), scale_bytes);
  }
  Blocks blocks;
  blocks.block_size = format.group;
  blocks.numbers = {ir::Type::tensor(format.element, ir::Shape{rows, columns}),
                    std::move(numbers).freeze()};
  blocks.scales = {scale_type, std::move(scales).freeze()};
  if (format.has_least) blocks.zeros = ir::Constant{scale_type, std::move(zeros).freeze()};
  return blocks;
}

}  // namespace sluice::weights
