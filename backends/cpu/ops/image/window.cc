#include "ops/image/window.h"

#include <algorithm>
#include <string_view>

namespace sluice::cpu {
namespace {

/// Number `index` of `values`, which has one per spatial dimension, times `parts`.
Extent extent_at(std::span<const std::int64_t> values, std::size_t spatial, std::size_t part,
                 std::int64_t fallback) {
  if (values.empty()) return {fallback, fallback};
  const auto own = values.subspan(part * spatial, spatial);
  return spatial == 1 ? Extent{fallback, own[0]} : Extent{own[0], own[1]};
}

/// Pads with which ceil(input / stride) outputs come out, begin and end together.
std::int64_t same_pads(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                       std::int64_t dilation) {
  const std::int64_t outputs = (input + stride - 1) / stride;
  const std::int64_t span = (outputs - 1) * stride + (kernel - 1) * dilation + 1;
  return std::max<std::int64_t>(0, span - input);
}

void pad_same(Window& w, Extent input, bool more_at_begin) {
  const Extent both = {same_pads(input.h, w.kernel.h, w.stride.h, w.dilation.h),
                       same_pads(input.w, w.kernel.w, w.stride.w, w.dilation.w)};
  const Extent less = {both.h / 2, both.w / 2};
  const Extent more = {both.h - less.h, both.w - less.w};
  w.pad_begin = more_at_begin ? more : less;
  w.pad_end = more_at_begin ? less : more;
}

}  // namespace

Extent spatial_extent(std::span<const std::int64_t> dims) {
  return dims.size() == 3 ? Extent{1, dims[2]} : Extent{dims[2], dims[3]};
}

Window read_window(const sluice_op& op, Extent kernel, Extent input) {
  const plugin::Attributes attributes(op);
  const auto spatial = static_cast<std::size_t>(op.inputs[0].tensor.rank - 2);
  Window w;
  w.kernel = kernel;
  w.stride = extent_at(attributes.get_ints("strides"), spatial, 0, 1);
  w.dilation = extent_at(attributes.get_ints("dilations"), spatial, 0, 1);
  const std::string_view automatic = attributes.get_text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    pad_same(w, input, automatic == "SAME_LOWER");
  } else if (automatic != "VALID") {
    w.pad_begin = extent_at(attributes.get_ints("pads"), spatial, 0, 0);
    w.pad_end = extent_at(attributes.get_ints("pads"), spatial, 1, 0);
  }
  return w;
}

Status check_window(const sluice_op& op, std::int32_t rank) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // products of two stay far from overflow
  const plugin::Attributes attributes(op);
  if (op.outputs[0].tensor.rank != rank) return plugin::unimplemented("a result of another rank");
  const auto spatial = static_cast<std::size_t>(rank - 2);
  for (const char* name : {"strides", "dilations", "pads", "kernel_shape"}) {
    for (const std::int64_t value : attributes.get_ints(name)) {
      if (value < 0 || value > kMost)
        return plugin::unimplemented(std::string(name) + " too large");
    }
  }
  for (const char* name : {"strides", "dilations", "pads"}) {
    const auto values = attributes.get_ints(name);
    const std::size_t parts = std::string_view(name) == "pads" ? 2 : 1;
    if (!values.empty() && values.size() != parts * spatial) {
      return plugin::unimplemented(std::string(name) + " of another rank");
    }
  }
  return plugin::ok();
}

Status check_image(const sluice_tensor& tensor) {
  if (tensor.element_type != plugin::kF32) return plugin::unimplemented("not f32");
  if (tensor.rank != 3 && tensor.rank != 4) return plugin::unimplemented("not a 1-D or 2-D image");
  return plugin::ok();
}

Share taps_within(std::int64_t first, std::int64_t dilation, std::int64_t taps, std::int64_t begin,
                  std::int64_t end) {
  const auto steps =
      [&](std::int64_t distance) {  // kernels ask for each row: no division if it can be
        return dilation == 1 ? distance : (distance + dilation - 1) / dilation;
      };
  const std::int64_t from = first < begin ? steps(begin - first) : 0;
  const std::int64_t to = first < end ? std::min(steps(end - first), taps) : 0;
  return {from, std::max(from, to)};
}

std::vector<float> count_columns(const PoolRow& row, std::int64_t begin, std::int64_t end) {
  std::vector<float> counts;
  for (std::int64_t c = 0; c < row.output_cols; ++c) {
    const Share taps =
        taps_within(c * row.stride - row.pad_begin, row.dilation, row.kernel_cols, begin, end);
    counts.push_back(static_cast<float>(taps.end - taps.begin));
  }
  return counts;
}

}  // namespace sluice::cpu
