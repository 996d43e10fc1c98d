#pragma once

#include <cstdint>
#include <vector>

#include "conv/conv_shape.h"

namespace sluice::cpu {

/// What one panel of packed weights multiplies: output channels [first_out, first_out + width) with
/// input channels [first_in, first_in + in_channels). Output channels that do not exist and input
/// channels of another group have zero weights.
struct ConvPanel {
  std::int64_t first_out = 0;
  std::int64_t width = 0;
  std::int64_t first_in = 0;
  std::int64_t in_channels = 0;
  std::int64_t weights_offset = 0;  ///< floats from the start of the packed weights
};

/// How the weights of a convolution are packed: by panel of output channels, then
///
///     [block of 16 input channels][kernel.h][kernel.w][channel][panel]    input in c16
///     [input channel][kernel.h][kernel.w][panel]                          input in planes
///
/// behind the bias, [panel] for every panel. The last block of a panel ends with its last channel.
/// The form depends on the instruction set and the input's layout, not on batch, height or width.
class ConvPacking {
 public:
  /// Requires: refusal(shape) == nullptr.
  ConvPacking(const ConvShape& shape, const ConvTileSet& tiles);

  const std::vector<ConvPanel>& panels() const { return panels_; }
  ConvInput input() const { return input_; }

  std::int64_t size() const { return size_; }  ///< floats

  /// Packs ONNX weights into `packed`, of size() floats.
  void pack(const float* weights, float* packed) const;

 private:
  ConvPanel panel_at(std::int64_t first_out, std::int64_t wide) const;
  float* pack_block(const ConvPanel& panel, std::int64_t first_in, std::int64_t channels,
                    const float* weights, float* packed) const;

  std::int64_t in_per_group_;
  std::int64_t out_per_group_;
  std::int64_t out_channels_;
  std::int64_t taps_;
  ConvInput input_;
  std::vector<ConvPanel> panels_;
  std::int64_t size_ = 0;
};

}  // namespace sluice::cpu
