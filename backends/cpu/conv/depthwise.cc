#include "conv/depthwise.h"

#include <algorithm>

#include "divide.h"

namespace sluice::cpu {
namespace {

/// The taps of an output row or column that starts at `first` and fall into [0, size).
struct Taps {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Taps taps_inside(std::int64_t first, std::int64_t dilation, std::int64_t kernel,
                 std::int64_t size) {
  const std::int64_t begin = first < 0 ? divide_up(-first, dilation) : 0;
  const std::int64_t end = first < size ? divide_up(size - first, dilation) : 0;
  return {std::min(begin, kernel), std::clamp(end, std::min(begin, kernel), kernel)};
}

/// One output row of one block.
class RowRun {
 public:
  RowRun(const DepthwisePlan& plan, const ConvArgs& args, std::int64_t row)
      : plan_(plan), row_(row) {
    const ConvShape& s = plan.shape;
    const std::int64_t y = row % plan.output.h;
    const std::int64_t image_block = row / plan.output.h;
    const std::int64_t block = image_block % blocks_of(s.in_channels);
    const std::int64_t first_y = y * s.stride.h - s.pad_begin.h;
    const Taps taps = taps_inside(first_y, s.dilation.h, s.kernel.h, s.input.h);
    const std::int64_t input_y = first_y + taps.begin * s.dilation.h;
    input_ = args.input + (image_block * s.input.h + input_y) * s.input.w * kBlock;
    output_ = row * plan.output.w * kBlock;
    tile_.input_row = s.dilation.h * s.input.w * kBlock;
    tile_.rows = static_cast<std::int32_t>(taps.end - taps.begin);
    tile_.bias = args.bias + block * kBlock;
    tile_.weights = args.weights + (block * s.kernel.h + taps.begin) * s.kernel.w * kBlock;
    tile_.kernel_cols = static_cast<std::int32_t>(s.kernel.w);
    tile_.stride = static_cast<std::int32_t>(s.stride.w);
    tile_.dilation = static_cast<std::int32_t>(s.dilation.w);
    tile_.activation = plan.epilogue.activation;
    tile_.low = plan.epilogue.low;
    tile_.high = plan.epilogue.high;
  }

  void run(const ConvArgs& args, float* scratch) {
    const std::int64_t width = plan_.output.w;
    const std::int64_t parts = plan_.reuses_input ? divide_up(width, plan_.most_cols) : 1;
    const std::int64_t wider = width % parts;
    std::int64_t begin = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t cols = width / parts + (part < wider ? 1 : 0);
      run_tile(args, begin, cols);
      begin += cols;
    }
    if (!plan_.epilogue.body.empty()) run_body(args, scratch);
  }

 private:
  void run_tile(const ConvArgs& args, std::int64_t begin, std::int64_t cols) {
    const ConvShape& s = plan_.shape;
    const std::int64_t first_x = begin * s.stride.w - s.pad_begin.w;
    const std::int64_t columns = (cols - 1) * s.stride.w + (s.kernel.w - 1) * s.dilation.w + 1;
    tile_.input = input_ + first_x * kBlock;
    tile_.first_column = static_cast<std::int32_t>(std::max<std::int64_t>(0, -first_x));
    tile_.end_column = static_cast<std::int32_t>(std::min(columns, s.input.w - first_x));
    tile_.cols = static_cast<std::int32_t>(cols);
    tile_.output = args.output + output_ + begin * kBlock;
    if (plan_.epilogue.residual) tile_.residual = args.residual + output_ + begin * kBlock;
    const DepthwiseTileSet& tiles = plan_.tiles();
    const auto kernel =
        plan_.reuses_input ? tiles.find(tile_.kernel_cols, tile_.stride, tile_.cols) : tiles.any;
    kernel(tile_);
  }

  void run_body(const ConvArgs& args, float* scratch) {
    const std::int64_t blocks = blocks_of(plan_.shape.in_channels);
    const std::int64_t image_block = row_ / plan_.output.h;
    ConvPiece piece;
    piece.out = args.output + output_;
    piece.image = image_block / blocks;
    piece.channel = image_block % blocks;
    piece.first_pixel = row_ % plan_.output.h * plan_.output.w;
    piece.pixels = plan_.output.w;
    run_conv_body(plan_.epilogue.body, SLUICE_CPU_PICK(plan_.isa, run_body), args.extra,
                  Layout::kBlocked, piece, scratch);
  }

  const DepthwisePlan& plan_;
  std::int64_t row_;
  DepthwiseTile tile_;
  const float* input_ = nullptr;
  std::int64_t output_ = 0;
};

}  // namespace

bool is_depthwise(const ConvShape& s) {
  return s.groups == s.in_channels && s.groups == s.out_channels &&
         s.in_layout == Layout::kBlocked && s.out_layout == Layout::kBlocked;
}

DepthwisePlan plan_depthwise(const ConvShape& s, const ConvEpilogue& epilogue, Isa isa,
                             const DepthwiseBlocks& blocks) {
  DepthwisePlan plan{s, s.output(), epilogue, isa};
  const bool known =
      s.kernel.w <= 7 && s.stride.w <= 2 && s.dilation.w == 1 &&
      plan.tiles().find(static_cast<int>(s.kernel.w), static_cast<int>(s.stride.w), 1) != nullptr;
  plan.most_cols = std::max<std::int64_t>(plan.tiles().most_cols / blocks.narrower, 1);
  plan.reuses_input =
      known && !blocks.plain && s.pad_begin.w < s.kernel.w && s.pad_end.w < s.kernel.w;
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
