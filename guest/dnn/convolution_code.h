// The kernels of convolutions, as PTX.
#pragma once

#include <cstdint>
#include <string>

#include "guest/blas/blas.h"

namespace sluice::guest::dnn {

/// Threads of a block, along the points of a channel of the result.
inline constexpr std::int64_t kBlockThreads = 128;

/// Bytes from an element of a tensor to the next along each axis.
struct Steps {
  std::int64_t item = 0, channel = 0, depth = 0, row = 0, column = 0;
};

/// Along the axes of a window, of which absent ones have size 1.
struct Extent {
  std::int64_t depth = 1, row = 1, column = 1;
};

/// The kernel's last parameter: words of 64 bits, in this order. A block's y is an output channel,
/// its z an item.
struct ConvolutionArguments {
  const void* x = nullptr;
  const void* weights = nullptr;
  const void* z = nullptr;
  void* y = nullptr;
  Steps x_steps, z_steps, y_steps;
  Steps weight_steps;       ///< `item`: to the next output channel
  std::int64_t points = 0;  ///< of a channel of the result
  Extent output, input, filter, stride, dilation, pad;
  std::int64_t group_inputs = 0;   ///< channels of x in a group
  std::int64_t group_outputs = 0;  ///< channels of y in a group
};

/// "convolution_f16"
const char* kernel_name(blas::Element element);

/// A fat binary with all of them. Lives until the process ends.
const std::string& convolution_fatbin();

}  // namespace sluice::guest::dnn
