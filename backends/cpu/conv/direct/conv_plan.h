#pragma once

#include <cstdint>
#include <vector>

#include "conv/conv_blocks.h"
#include "conv/conv_shape.h"
#include "conv/direct/conv_body.h"
#include "conv/direct/conv_weights.h"
#include "core/isa.h"
#include "kernels/convert/convert.h"

namespace sluice::cpu {

/// What happens to a convolution's sums before they are stored.
struct ConvEpilogue {
  bool residual = false;  ///< a tensor like the output, which is in c16, is added first
  Bounds bounds = {};     ///< then the result is limited to these
  ConvBody body = {};     ///< then the fused body runs
};

/// The columns of a row with the same remainder modulo the stride. Columns [begin, end) exist in
/// the input, beginning with input column `first`; the rest is padding.
struct ConvPhase {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first = 0;
};

/// The padded copy of the input rows under a band of output rows. Columns are sorted by their
/// remainder modulo the stride ("phases"), so that neighbouring output pixels read neighbouring
/// input pixels whatever the stride: [block][row][phase][column][pixel]. Distances in floats.
struct ConvStrip {
  bool copied = false;  ///< false: the kernels read the input tensor where it is
  std::int64_t columns = 0;
  std::vector<ConvPhase> phases;     ///< of a copied strip
  std::int64_t row = 0;              ///< from one kept input row to the next
  std::int64_t rows_per_output = 1;  ///< kept rows from one output row to the next
  std::int64_t rows = 0;             ///< of the largest band
  std::int64_t block = 0;            ///< from one input block to the next
};

/// Taps [begin, end) along one axis.
struct TapRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count() const { return end - begin; }
};

/// Output rows or columns [begin, end) that see the image through the same taps.
struct TapGroup {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  TapRange taps;
};

/// Which taps of a dilated kernel see padding alone. Where leaving them out pays, no padding is
/// read, and the strip is the input itself.
struct ConvTapSkips {
  bool pays = false;  ///< leaving them out saves a fifth of the products or more
  std::vector<TapGroup> rows;
  std::vector<TapGroup> columns;
};

/// The part of a convolution that does not change from run to run: plain numbers, no pointers into
/// tensors. Shared by all workers and contexts.
struct ConvPlan {
  ConvPlan(const ConvShape& s, const ConvEpilogue& e, Isa i)
      : shape(s), output(s.output()), epilogue(e), isa(i), packing(s, tiles()) {}

  ConvShape shape;
  Extent output;
  ConvEpilogue epilogue;
  Isa isa;
  ConvPacking packing;
  Storage weights = Storage::kF32;  ///< of the packed weights; those of 16 bits are widened by pass
  bool flat = false;                ///< one tap: the pixels of a band form one row
  std::int64_t pixel = 1;  ///< floats from one input pixel to the next, channels of a block
  std::int64_t band_rows = 1;
  std::int64_t pass_blocks = 1;  ///< input blocks summed at a time
  Division division = Division::kByCost;
  ConvStrip strip;
  std::vector<std::int64_t> taps;  ///< where each tap of a pixel lies, in floats
  ConvTapSkips skips;

  std::int64_t strip_floats() const;    ///< a multiple of 16
  std::int64_t sums_floats() const;     ///< likewise
  std::int64_t widened_floats() const;  ///< likewise, weights of a pass
  /// The strip, sums on their way to planes, widened weights, the body's.
  std::int64_t scratch_bytes() const;
  std::int64_t channels_per_block() const { return pixel; }
  std::int64_t input_blocks() const { return (shape.in_channels + pixel - 1) / pixel; }
  const ConvTileSet& tiles() const { return *SLUICE_CPU_PICK(isa, kConvTiles); }
};

/// Requires: refusal(shape) == nullptr.
ConvPlan plan_conv(const ConvShape& shape, const ConvEpilogue& epilogue, Isa isa,
                   const ConvBlocks& blocks = {}, Storage weights = Storage::kF32);

}  // namespace sluice::cpu
