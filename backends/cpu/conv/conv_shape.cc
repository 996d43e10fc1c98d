#include "conv/conv_shape.h"

#include <initializer_list>

namespace sluice::cpu {
namespace {

/// Keeps every offset computed from a shape far from overflow.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;

bool in_range(Extent e, std::int64_t least) {
  return e.h >= least && e.w >= least && e.h <= kMaxExtent && e.w <= kMaxExtent;
}

std::int64_t output_along(std::int64_t input, std::int64_t pads, std::int64_t kernel,
                          std::int64_t stride, std::int64_t dilation) {
  const std::int64_t span = (kernel - 1) * dilation + 1;
  const std::int64_t padded = input + pads;
  return padded < span ? 0 : (padded - span) / stride + 1;
}

/// True when the product of the factors passes kMaxElements.
bool too_many(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  std::int64_t product = 1;
  for (const std::int64_t factor : {a, b, c, d}) {
    if (factor > kMaxElements / product) return true;
    product *= factor;
  }
  return false;
}

}  // namespace

Extent ConvShape::output() const {
  return {output_along(input.h, pad_begin.h + pad_end.h, kernel.h, stride.h, dilation.h),
          output_along(input.w, pad_begin.w + pad_end.w, kernel.w, stride.w, dilation.w)};
}

const char* refusal(const ConvShape& s) {
  if (s.batch < 1 || s.in_channels < 1 || s.out_channels < 1) return "a dimension is not positive";
  if (s.groups < 1 || s.in_channels % s.groups != 0 || s.out_channels % s.groups != 0) {
    return "channels are not a multiple of the groups";
  }
  if (!in_range(s.input, 1) || !in_range(s.kernel, 1) || !in_range(s.stride, 1) ||
      !in_range(s.dilation, 1) || !in_range(s.pad_begin, 0) || !in_range(s.pad_end, 0)) {
    return "an extent, stride, dilation or pad is out of range";
  }
  const Extent out = s.output();
  if (out.h < 1 || out.w < 1) return "the kernel does not fit into the padded input";
  if (too_many(s.batch, s.in_channels + kBlock, s.input.h + s.pad_begin.h + s.pad_end.h,
               s.input.w + s.pad_begin.w + s.pad_end.w) ||
      too_many(s.batch, s.out_channels + kBlock, out.h, out.w) ||
      too_many(s.out_channels + kBlock, s.in_channels + kBlock, s.kernel.h, s.kernel.w)) {
    return "a tensor is too large";
  }
  return nullptr;
}

}  // namespace sluice::cpu
