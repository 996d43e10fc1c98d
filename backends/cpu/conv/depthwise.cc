#include "conv/depthwise.h"

#include <algorithm>

#include "conv/depthwise_rows.h"

namespace sluice::cpu {
namespace {

/// One output row of one block.
class RowRun {
 public:
  RowRun(const DepthwisePlan& plan, const ConvArgs& args, std::int64_t number)
      : plan_(plan), number_(number), row_(plan.shape, plan.output, number) {
    const ConvShape& s = plan.shape;
    static_cast<DepthwiseWindows&>(tile_) = windows_of(s, row_);
    tile_.bias = args.bias + row_.block * kBlock;
    tile_.weights = args.weights + (row_.block * s.kernel.h + row_.first_tap) * s.kernel.w * kBlock;
    tile_.activation = plan.epilogue.activation;
    tile_.low = plan.epilogue.low;
    tile_.high = plan.epilogue.high;
  }

  void run(const ConvArgs& args, float* scratch) {
    const std::int64_t width = plan_.output.w;
    const std::int64_t most_cols = plan_.reuses_input ? plan_.most_cols : width;
    for_each_part(width, most_cols,
                  [&](std::int64_t begin, std::int64_t cols) { run_tile(args, begin, cols); });
    if (!plan_.epilogue.body.empty()) run_body(args, scratch);
  }

 private:
  void run_tile(const ConvArgs& args, std::int64_t begin, std::int64_t cols) {
    const std::int64_t first_x = set_columns(plan_.shape, begin, cols, tile_);
    const std::int64_t out = (row_.output_pixel + begin) * kBlock;
    tile_.input = args.input + (row_.input_pixel + first_x) * kBlock;
    tile_.output = args.output + out;
    if (plan_.epilogue.residual) tile_.residual = args.residual + out;
    const DepthwiseTileSet& tiles = plan_.tiles();
    const auto kernel =
        plan_.reuses_input ? tiles.find(tile_.kernel_cols, tile_.stride, tile_.cols) : tiles.any;
    kernel(tile_);
  }

  void run_body(const ConvArgs& args, float* scratch) {
    const std::int64_t blocks = blocks_of(plan_.shape.in_channels);
    const std::int64_t image_block = number_ / plan_.output.h;
    ConvPiece piece;
    piece.out = args.output + row_.output_pixel * kBlock;
    piece.image = image_block / blocks;
    piece.channel = image_block % blocks;
    piece.first_pixel = number_ % plan_.output.h * plan_.output.w;
    piece.pixels = plan_.output.w;
    run_conv_body(plan_.epilogue.body, SLUICE_CPU_PICK(plan_.isa, run_body), args.extra,
                  Layout::kBlocked, piece, scratch);
  }

  const DepthwisePlan& plan_;
  std::int64_t number_;
  DepthwiseRow row_;
  DepthwiseTile tile_;
};

}  // namespace

DepthwisePlan plan_depthwise(const ConvShape& s, const ConvEpilogue& epilogue, Isa isa,
                             const DepthwiseBlocks& blocks) {
  DepthwisePlan plan{s, s.output(), epilogue, isa};
  plan.most_cols = std::max<std::int64_t>(plan.tiles().most_cols / blocks.narrower, 1);
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
  const std::int64_t rows = plan.shape.batch * blocks_of(plan.shape.in_channels) * plan.output.h;
  const Share share = share_of(rows, 1, worker);
  auto* scratch = reinterpret_cast<float*>(worker.scratch);
  for (std::int64_t row = share.begin; row < share.end; ++row) {
    RowRun(plan, args, row).run(args, scratch);
  }
}

}  // namespace sluice::cpu
