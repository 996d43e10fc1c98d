// ggml's types of tensors whose rows are blocks of few bits.
// Source: the structures block_q4_0 to block_mxfp4 of github.com/ggml-org/ggml, ggml-common.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "ir/element_type.h"
#include "weights/weights.h"

namespace sluice::weights {

/// A block of a row: numbers, and for each `group` of them a scale and perhaps what is subtracted:
/// weight = number * scale - least.
///
/// Q4_0 becomes i4, Q8_0 i8, Q4_1 and Q4_K u4 with zero points: nothing is rounded, and scales that
/// the file has in f16, 4, 6 or 8 bits become f32. Q3_K (i4), Q2_K (u4), Q5_0, Q6_K, IQ4_NL,
/// IQ4_XS and MXFP4 (i8), Q5_1 and Q5_K (u8) take more bits than in the file.
struct BlockFormat {
  std::uint32_t type;  ///< ggml_type
  std::string_view name;
  std::int64_t size;   ///< numbers of a block
  std::int64_t bytes;  ///< of the file
  std::int64_t group;
  ir::ElementType element;  ///< of the numbers, in `Blocks`
  bool has_least;

  /// Writes `size` numbers, a byte each, and `size / group` scales and leasts.
  void (*unpack)(const std::uint8_t* block, std::uint8_t* numbers, float* scales, float* leasts);
};

/// Null for another type.
const BlockFormat* find_block_format(std::uint32_t type);

/// A matrix [rows, columns] of such blocks.
/// Requires: `columns` is a multiple of the block's size, and `data` has the bytes of all blocks.
Blocks read_blocks(const BlockFormat& format, std::int64_t rows, std::int64_t columns,
                   const Bytes& data);

}  // namespace sluice::weights
