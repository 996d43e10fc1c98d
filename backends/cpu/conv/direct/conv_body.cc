#include "conv/direct/conv_body.h"

#include <algorithm>

namespace sluice::cpu {
namespace {

/// Pixels of a block, or of 16 planes, that make a tile.
constexpr std::int64_t kTilePixels = kBodyTileFloats / kBlock;

/// Every operand is a number or lies exactly as the output does.
bool is_one_run(const ConvBody& body) {
  return std::all_of(body.operands + 1, body.operands + body.body.input_count, [](const auto& o) {
    return (o.pixel == kBlock && o.lane == 1) || (o.pixel == 0 && o.lane == 0);
  });
}

const float* address(const ConvBodyOperand& o, const float* data, const ConvPiece& piece,
                     std::int64_t pixel) {
  return data + piece.image * o.image + piece.channel * o.channel + pixel * o.pixel;
}

}  // namespace

void run_conv_body(const ConvBody& body, RunBody run, const float* const* extra, Layout layout,
                   const ConvPiece& piece, float* scratch) {
  const bool blocked = layout == Layout::kBlocked;
  const bool one_run = blocked && is_one_run(body);
  for (std::int64_t p = 0; p < piece.pixels; p += kTilePixels) {
    const std::int64_t pixels = std::min(kTilePixels, piece.pixels - p);
    BodyTile tile = {piece.out + p, piece.plane, piece.planes, pixels};
    if (blocked) tile = {piece.out + p * kBlock, kBlock, pixels, kBlock};
    if (one_run) tile = {piece.out + p * kBlock, 0, 1, pixels * kBlock};
    BodyOperand inputs[kBodyMaxInputs] = {{tile.out, tile.out_row, 1}};
    for (int i = 1; i < body.body.input_count; ++i) {
      const ConvBodyOperand& o = body.operands[i];
      inputs[i] = {address(o, extra[i], piece, piece.first_pixel + p), o.channel, o.pixel};
      if (blocked) inputs[i] = {inputs[i].data, one_run ? 0 : o.pixel, o.lane};
    }
    run(body.body, inputs, tile, scratch);
  }
}

}  // namespace sluice::cpu
