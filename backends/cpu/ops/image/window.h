#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "conv/conv_shape.h"
#include "core/worker.h"
#include "kernels/image/pool_row.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// What convolution and pooling have in common: a window that slides over images [N, C, (H,) W].
struct Window {
  Extent kernel;
  Extent stride;
  Extent dilation;
  Extent pad_begin = {0, 0};
  Extent pad_end = {0, 0};
};

/// Rows and columns of an image tensor; those of rank 3 have one row. Requires: rank 3 or 4.
Extent spatial_extent(std::span<const std::int64_t> dims);

/// Reads `strides`, `dilations`, `pads` and `auto_pad`; the kernel's extents are given. With
/// `auto_pad` SAME_*, pads follow from the input's extents.
Window read_window(const sluice_op& op, Extent kernel, Extent input);

/// Ok if those attributes have one number per spatial dimension or are absent, are neither negative
/// nor huge, and the result has the rank of the image.
Status check_window(const sluice_op& op, std::int32_t rank);

inline Layout layout_of(const sluice_tensor& tensor) {
  return tensor.layout == SLUICE_LAYOUT_C16 ? Layout::kBlocked : Layout::kPlanes;
}

/// Ok if the tensor is an f32 image: rank 3 or 4.
Status check_image(const sluice_tensor& tensor);

/// Those of a window's `taps` that lie in [begin, end), of a window beginning at `first`.
Share taps_within(std::int64_t first, std::int64_t dilation, std::int64_t taps, std::int64_t begin,
                  std::int64_t end);

/// How many kernel columns of each output lie in [begin, end): what an average divides by.
std::vector<float> count_columns(const PoolRow& row, std::int64_t begin, std::int64_t end);

}  // namespace sluice::cpu
