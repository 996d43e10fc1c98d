#include "conv/direct/conv_weights.h"

#include <algorithm>

namespace sluice::cpu {
namespace {

std::int64_t round_down(std::int64_t value, std::int64_t to) { return value / to * to; }

}  // namespace

ConvPacking::ConvPacking(const ConvShape& shape, const ConvTileSet& tiles)
    : in_per_group_(shape.in_channels / shape.groups),
      out_per_group_(shape.out_channels / shape.groups),
      out_channels_(shape.out_channels),
      taps_(shape.kernel.h * shape.kernel.w),
      input_(shape.in_layout == Layout::kBlocked ? ConvInput::kBlocked : ConvInput::kPlanes) {
  const bool wide_fits = shape.groups == 1 || out_per_group_ % tiles.panel == 0;
  const std::int64_t wide = wide_fits ? tiles.panel : kBlock;
  for (std::int64_t out = 0; out < out_channels_; out += panels_.back().width) {
    panels_.push_back(panel_at(out, wide));
    size_ += panels_.back().width * taps_ * panels_.back().in_channels;
  }
}

ConvPanel ConvPacking::panel_at(std::int64_t first_out, std::int64_t wide) const {
  const std::int64_t left = blocks_of(out_channels_ - first_out) * kBlock;
  const std::int64_t width = left >= wide ? wide : kBlock;
  const std::int64_t last_out = std::min(first_out + width, out_channels_) - 1;
  std::int64_t first_in = first_out / out_per_group_ * in_per_group_;
  if (input_ == ConvInput::kBlocked) first_in = round_down(first_in, kBlock);
  const std::int64_t end_in = (last_out / out_per_group_ + 1) * in_per_group_;
  return {first_out, width, first_in, end_in - first_in, size_};
}

/// Reads each output channel's weights in their order; the block they are spread over fits a cache.
float* ConvPacking::pack_block(const ConvPanel& panel, std::int64_t first_in, std::int64_t channels,
                               const float* weights, float* packed) const {
  const std::int64_t size = taps_ * channels * panel.width;
  std::fill_n(packed, size, 0.0F);
  const std::int64_t last = std::min(panel.width, out_channels_ - panel.first_out);
  for (std::int64_t i = 0; i < last; ++i) {
    const std::int64_t out = panel.first_out + i;
    const std::int64_t group_in = out / out_per_group_ * in_per_group_;
    const std::int64_t begin = std::max(first_in, group_in);
    const std::int64_t end = std::min(first_in + channels, group_in + in_per_group_);
    const float* from = weights + (out * in_per_group_ + begin - group_in) * taps_;
    for (std::int64_t in = begin; in < end; ++in) {
      float* to = packed + (in - first_in) * panel.width + i;
      for (std::int64_t tap = 0; tap < taps_; ++tap) to[tap * channels * panel.width] = *from++;
    }
  }
  return packed + size;
}

void ConvPacking::pack(const float* weights, float* packed) const {
  const std::int64_t block = input_ == ConvInput::kBlocked ? kBlock : 1;
  for (const ConvPanel& panel : panels_) {
    float* next = packed + panel.weights_offset;
    const std::int64_t end = panel.first_in + panel.in_channels;
    for (std::int64_t in = panel.first_in; in < end; in += block) {
      next = pack_block(panel, in, std::min(block, end - in), weights, next);
    }
  }
}

}  // namespace sluice::cpu
