#include "conv/bytes/byte_depthwise.h"

#include <utility>

#include "conv/depthwise/depthwise.h"
#include "kernels/bytes/byte_depthwise_tile.h"

namespace sluice::cpu {
namespace {

/// So many products of bytes stay whole numbers in f32.
constexpr std::int64_t kMaxTaps = (1 << 24) / (255 * 128);

const ByteDepthwiseTileSet& tiles_of(Isa isa) { return *SLUICE_CPU_PICK(isa, kByteDepthwiseTiles); }

template <typename T>
T* moved(T* data, std::int64_t elements) {
  return data == nullptr ? nullptr : data + elements;
}

void run_row(const ByteDepthwisePlan& plan, const ByteConvArgs& args, const RowParts& parts,
             const DepthwiseRow& row) {
  const ConvShape& s = plan.shape;
  const ByteDepthwiseTileSet& tiles = tiles_of(plan.isa);
  ByteDepthwiseTile tile;
  tile.low = plan.epilogue.low;
  tile.high = plan.epilogue.high;
  tile.own_low = plan.epilogue.own_low;
  tile.own_high = plan.epilogue.own_high;
  tile.residual_scale = plan.epilogue.residual_scale;
  tile.output_zero = plan.epilogue.output_zero;
  tile.input_zero = plan.input_zero;
  tile.weights = static_cast<const float*>(args.weights) +
                 (row.block * s.kernel.h + row.first_tap) * s.kernel.w * kBlock;
  tile.scales = plan.epilogue.scales.data() + row.block * kBlock;
  tile.biases = plan.epilogue.biases.data() + row.block * kBlock;
  static_cast<DepthwiseWindows&>(tile) = windows_of(s, row);
  parts.for_each([&](std::int64_t begin, std::int64_t cols) {
    const std::int64_t first_x = set_columns(s, begin, cols, tile);
    const std::int64_t out = (row.output_pixel + begin) * kBlock;
    tile.input = args.input + (row.input_pixel + first_x) * kBlock;
    tile.residual_bytes = moved(args.residual_bytes, out);
    tile.residual_floats = moved(args.residual_floats, out);
    tile.output_bytes = moved(args.output_bytes, out);
    tile.output_floats = moved(args.output_floats, out);
    const auto kernel =
        plan.reuses_input ? tiles.find(tile.kernel_cols, tile.stride, tile.cols) : tiles.any;
    kernel(tile);
  });
}

}  // namespace

const char* byte_depthwise_refusal(const ConvShape& s) {
  if (const char* reason = refusal(s); reason != nullptr) return reason;
  return s.kernel.h * s.kernel.w > kMaxTaps ? "sums may pass 24 bits" : nullptr;
}

std::int64_t packed_byte_depthwise_bytes(const ConvShape& shape) {
  return packed_depthwise_size(shape) * static_cast<std::int64_t>(sizeof(float));
}

void pack_byte_depthwise(const ConvShape& shape, const std::int8_t* weights, float* packed) {
  const std::vector<float> floats(weights,
                                  weights + shape.in_channels * shape.kernel.h * shape.kernel.w);
  pack_depthwise(shape, floats.data(), packed);
}

ByteDepthwisePlan plan_byte_depthwise(const ConvShape& s, ByteConvEpilogue epilogue,
                                      std::uint8_t input_zero, Isa isa) {
  ByteDepthwisePlan plan{s,
                         s.output(),
                         std::move(epilogue),
                         static_cast<float>(input_zero),
                         isa,
                         reuses_input(s, tiles_of(isa))};
  const auto channels = static_cast<std::size_t>(blocks_of(s.in_channels) * kBlock);
  plan.epilogue.scales.resize(channels);
  plan.epilogue.biases.resize(channels);
  return plan;
}

void run_byte_depthwise(const ByteDepthwisePlan& plan, const ByteConvArgs& args,
                        const Worker& worker) {
  const RowParts parts(plan.output.w,
                       plan.reuses_input ? tiles_of(plan.isa).max_cols : plan.output.w);
  for (DepthwiseRows rows(plan.shape, plan.output, worker); !rows.done(); rows.advance()) {
    run_row(plan, args, parts, rows.row());
  }
}

}  // namespace sluice::cpu
