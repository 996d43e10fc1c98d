#pragma once

#include <cstdint>

#include "kernels/conv/conv_tile.h"

namespace sluice::cpu {

/// How an activation tensor lies in memory: [N][C][H][W], or c16 (see kBlock).
enum class Layout : std::int32_t { kPlanes, kBlocked };

/// Integers along the two spatial axes.
struct Extent {
  std::int64_t h = 1;
  std::int64_t w = 1;
};

/// A two-dimensional convolution, as ONNX means it. Weights are [out_channels][in_channels/groups]
/// [kernel.h][kernel.w]. A one-dimensional one has every `h` at its default.
struct ConvShape {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t groups = 1;
  Extent input;
  Extent kernel;
  Extent stride;
  Extent dilation;
  Extent pad_begin = {0, 0};
  Extent pad_end = {0, 0};
  Layout in_layout = Layout::kBlocked;
  Layout out_layout = Layout::kBlocked;

  Extent output() const;
};

inline std::int64_t blocks_of(std::int64_t channels) { return (channels + kBlock - 1) / kBlock; }

/// Null when the convolution can be planned, else what is wrong with it.
const char* refusal(const ConvShape& shape);

}  // namespace sluice::cpu
