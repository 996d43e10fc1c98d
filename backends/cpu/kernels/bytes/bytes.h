#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Floats as integers of 8 or 16 bits, with or without sign: saturate(round(x / scale) + zero),
/// half to even. A NaN is 0.
struct ByteScale {
  float scale = 1;
  std::int32_t zero = 0;
  bool has_sign = false;
};

/// The largest under a window of a c16 image of bytes without sign, along one output row.
struct BytePoolRow {
  const std::uint8_t* input = nullptr;  ///< the first row under the windows
  std::int64_t input_row = 0;           ///< bytes from a row under the windows to the next
  std::int64_t rows = 0;                ///< of the image under the windows; none: zeros
  std::int64_t input_cols = 0;
  std::int64_t output_cols = 0;
  std::int64_t kernel_cols = 0;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::uint8_t* output = nullptr;
};

SLUICE_CPU_EACH_ISA(void quantize_bytes(const float* x, std::int64_t count, const ByteScale& scale,
                                        std::uint8_t* y);
                    /// The smallest and the largest of the numbers and 0. A NaN is neither.
                    void range_of(const float* x, std::int64_t count, float* least, float* largest);
                    void dequantize_bytes(const std::uint8_t* x, std::int64_t count,
                                          const ByteScale& scale, float* y);
                    void quantize_shorts(const float* x, std::int64_t count, const ByteScale& scale,
                                         std::uint16_t* y);
                    void dequantize_shorts(const std::uint16_t* x, std::int64_t count,
                                           const ByteScale& scale, float* y);
                    /// y[i] = table[x[i]], of 256 entries.
                    void map_bytes(const std::uint8_t* table, const std::uint8_t* x,
                                   std::int64_t count, std::uint8_t* y);
                    void pool_byte_row(const BytePoolRow& row);
                    /// As those of floats, in kernels/image/transpose.h.
                    void byte_block_to_planes(const std::uint8_t* block, std::int64_t pixels,
                                              std::int64_t channels, std::uint8_t* planes,
                                              std::int64_t plane);
                    void planes_to_byte_block(const std::uint8_t* planes, std::int64_t plane,
                                              std::int64_t channels, std::int64_t pixels,
                                              std::uint8_t* block);)

}  // namespace sluice::cpu
