#include "conv/depthwise/depthwise.h"

#include <algorithm>

#include "conv/depthwise/depthwise_rows.h"

namespace sluice::cpu {
namespace {

/// True if the input exceeds L2 and every output row needs two new input rows: the hardware
/// prefetcher keeps up with one new row, not with two.
bool is_far(const ConvShape& s) {
  constexpr std::int64_t kNearFloats = (2 << 20) / sizeof(float);
  return s.stride.h > 1 && blocks_of(s.in_channels) * kBlock * s.input.h * s.input.w > kNearFloats;
}

/// True if the output exceeds L2: the processor reads a line from L3 or memory before writing it.
bool leaves_cache(const DepthwisePlan& plan) {
  constexpr std::int64_t kNearFloats = (1 << 20) / sizeof(float);
  return blocks_of(plan.shape.out_channels) * kBlock * plan.output.h * plan.output.w > kNearFloats;
}

/// Computes the rows of one worker. The constructor sets what all rows share: on small images a
/// row takes about a hundred cycles, so setup per row would show.
class RowsRun {
 public:
  RowsRun(const DepthwisePlan& plan, const ConvArgs& args, float* scratch)
      : plan_(plan),
        args_(args),
        scratch_(scratch),
        fetches_ahead_(is_far(plan.shape)),
        parts_(plan.output.w, plan.reuses_input ? plan.max_cols : plan.output.w) {
    tile_.bounds = plan.epilogue.bounds;
    tile_.fetches_output = plan.shape.stride.w == 1 && leaves_cache(plan);
  }

  void run(const DepthwiseRow& row) {
    const ConvShape& s = plan_.shape;
    static_cast<DepthwiseWindows&>(tile_) = windows_of(s, row);
    if (fetches_ahead_) tile_.ahead = tile_.rows * tile_.input_row;
    tile_.bias = args_.bias + row.block * kBlock;
    tile_.weights = args_.weights + (row.block * s.kernel.h + row.first_tap) * s.kernel.w * kBlock;
    parts_.for_each([&](std::int64_t begin, std::int64_t cols) { run_tile(row, begin, cols); });
    if (!plan_.epilogue.body.empty()) run_body(row);
  }

 private:
  void run_tile(const DepthwiseRow& row, std::int64_t begin, std::int64_t cols) {
    const std::int64_t first_x = set_columns(plan_.shape, begin, cols, tile_);
    const std::int64_t out = (row.output_pixel + begin) * kBlock;
    tile_.input = args_.input + (row.input_pixel + first_x) * kBlock;
    tile_.output = args_.output + out;
    if (plan_.epilogue.residual) tile_.residual = args_.residual + out;
    if (cols != kernel_cols_) {
      const DepthwiseTileSet& tiles = plan_.tiles();
      kernel_ =
          plan_.reuses_input ? tiles.find(tile_.kernel_cols, tile_.stride, tile_.cols) : tiles.any;
      kernel_cols_ = cols;
    }
    kernel_(tile_);
  }

  void run_body(const DepthwiseRow& row) {
    ConvPiece piece;
    piece.out = args_.output + row.output_pixel * kBlock;
    piece.image = row.image;
    piece.channel = row.block;
    piece.first_pixel = row.y * plan_.output.w;
    piece.pixels = plan_.output.w;
    run_conv_body(plan_.epilogue.body, SLUICE_CPU_PICK(plan_.isa, run_body), args_.extra,
                  Layout::kBlocked, piece, scratch_);
  }

  const DepthwisePlan& plan_;
  const ConvArgs& args_;
  float* scratch_;
  bool fetches_ahead_;
  RowParts parts_;
  DepthwiseTile tile_;
  DepthwiseTileKernel kernel_ = nullptr;
  std::int64_t kernel_cols_ = 0;
};

}  // namespace

DepthwisePlan plan_depthwise(const ConvShape& s, const ConvEpilogue& epilogue, Isa isa,
                             const DepthwiseBlocks& blocks) {
  DepthwisePlan plan{s, s.output(), epilogue, isa};
  plan.max_cols = std::max<std::int64_t>(plan.tiles().max_cols / blocks.narrower, 1);
  plan.reuses_input = !blocks.plain && reuses_input(s, plan.tiles());
  return plan;
}

std::int64_t packed_depthwise_size(const ConvShape& shape) {
  return blocks_of(shape.in_channels) * kBlock * shape.kernel.h * shape.kernel.w;
}

void pack_depthwise(const ConvShape& shape, const float* weights, float* packed) {
  const std::int64_t taps = shape.kernel.h * shape.kernel.w;
  const std::int64_t channels = blocks_of(shape.in_channels) * kBlock;
  for (std::int64_t c = 0; c < channels; ++c) {
    const bool exists = c < shape.in_channels;
    float* to = packed + c / kBlock * taps * kBlock + c % kBlock;
    for (std::int64_t t = 0; t < taps; ++t) to[t * kBlock] = exists ? weights[c * taps + t] : 0.0f;
  }
}

void run_depthwise(const DepthwisePlan& plan, const ConvArgs& args, const Worker& worker) {
  RowsRun run(plan, args, reinterpret_cast<float*>(worker.scratch));
  for (DepthwiseRows rows(plan.shape, plan.output, worker); !rows.done(); rows.advance()) {
    run.run(rows.row());
  }
}

}  // namespace sluice::cpu
