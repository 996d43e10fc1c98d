#include "ops/nn/window.h"

#include <string>
#include <utility>

namespace sluice::ops {
namespace {

Result<std::vector<std::int64_t>> numbers(const InferenceContext& context, std::string_view name,
                                          std::size_t count, std::int64_t least,
                                          std::int64_t fallback) {
  std::vector<std::int64_t> values = context.ints_attribute(name);
  if (values.empty()) values.assign(count, fallback);
  if (values.size() != count) {
    return context.error("attribute \"{}\" has {} entries, the input's shape asks for {}", name,
                         values.size(), count);
  }
  for (const std::int64_t value : values) {
    if (value < least) {
      return context.error("attribute \"{}\" has an entry {}; the least is {}", name, value, least);
    }
  }
  return values;
}

Result<AutoPad> parse_auto_pad(const InferenceContext& context) {
  const std::string text = context.text_attribute("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return AutoPad::kNotSet;
  if (text == "VALID") return AutoPad::kValid;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  return context.error("auto_pad \"{}\" is not one of NOTSET, VALID, SAME_UPPER, SAME_LOWER", text);
}

}  // namespace

ir::Shape kernel_shape(const InferenceContext& context) {
  const auto sizes = context.ints_attribute("kernel_shape");
  return {sizes.begin(), sizes.end()};
}

Result<Window> parse_window(const InferenceContext& context, ir::Shape kernel) {
  const std::size_t rank = kernel.size();
  Window window;
  for (const ir::Dim& size : kernel) {
    if (size.is_known() && size.value() < 1) {
      return context.error("a window of size {} is empty", size.to_string());
    }
  }
  window.kernel = std::move(kernel);
  // The last two numbers are the least that is allowed, and the default.
  window.strides = SLUICE_TRY(numbers(context, "strides", rank, 1, 1));
  window.dilations = SLUICE_TRY(numbers(context, "dilations", rank, 1, 1));
  window.auto_pad = SLUICE_TRY(parse_auto_pad(context));
  window.pads.assign(2 * rank, 0);
  // Every other form of auto_pad overrules the attribute pads.
  if (window.auto_pad == AutoPad::kNotSet) {
    window.pads = SLUICE_TRY(numbers(context, "pads", 2 * rank, 0, 0));
  }
  window.ceil_mode = context.int_attribute("ceil_mode") != 0;
  return window;
}

ir::Dim window_extent(const Window& window, std::size_t axis) {
  return (window.kernel[axis] - 1) * window.dilations[axis] + 1;
}

ir::Dim num_windows(const Window& window, std::size_t axis, const ir::Dim& input) {
  const ir::Dim stride = window.strides[axis];
  if (window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower) {
    return ceil_div(input, stride);
  }
  const ir::Dim before = window.pads[axis];
  const ir::Dim after = window.pads[axis + window.kernel.size()];
  const ir::Dim room = input + before + after - window_extent(window, axis);
  if (!window.ceil_mode) return floor_div(room, stride) + 1;
  // A window that would start in the padding behind the input does not count.
  return min(ceil_div(room, stride) + 1, ceil_div(input + before, stride));
}

std::vector<AttributeSpec> window_attributes(std::vector<AttributeSpec> others) {
  others.push_back({"auto_pad", std::string("NOTSET")});
  for (const char* name : {"dilations", "kernel_shape", "pads", "strides"}) {
    others.push_back({name, std::nullopt});
  }
  return others;
}

}  // namespace sluice::ops
