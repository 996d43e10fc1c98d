// Sliding windows: what convolutions and poolings share in their shape functions.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/inference.h"

namespace sluice::ops {

/// Where padding comes from. With kSameUpper and kSameLower the output has ceil(in / stride).
enum class AutoPad { kNotSet, kValid, kSameUpper, kSameLower };

/// One entry per spatial axis; `pads` lists the padding at the start of each axis, then at the end.
struct Window {
  ir::Shape kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads;
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;  ///< a last window that is not full counts, if it starts inside
};

/// Reads strides, dilations, pads, auto_pad and ceil_mode; what is absent is 1, 1, 0, NOTSET, 0.
/// Fails: kInvalidArgument for a wrong count, a negative pad, or a stride or kernel below 1.
Result<Window> parse_window(const InferenceContext& context, ir::Shape kernel);

/// The attribute kernel_shape as dimensions; empty if absent.
ir::Shape kernel_shape(const InferenceContext& context);

/// ((kernel - 1) * dilation + 1) of one axis.
ir::Dim window_extent(const Window& window, std::size_t axis);

/// Number of windows along one spatial axis of size `input`.
ir::Dim num_windows(const Window& window, std::size_t axis, const ir::Dim& input);

/// The attributes of every windowed operator, with their kinds.
std::vector<AttributeSpec> window_attributes(std::vector<AttributeSpec> others = {});

}  // namespace sluice::ops
