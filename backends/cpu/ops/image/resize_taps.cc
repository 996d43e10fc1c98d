#include "ops/image/resize_taps.h"

#include <algorithm>
#include <cmath>

#include "ops/operands/checks.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

std::string_view coordinates_of(const sluice_op& op) {
  return plugin::Attributes(op).get_text("coordinate_transformation_mode", "half_pixel");
}

/// Input 2, if present and not empty.
const sluice_operand* scales_of(const sluice_op& op) {
  if (op.num_inputs < 3 || plugin::is_absent(op.inputs[2].tensor)) return nullptr;
  const sluice_operand& scales = op.inputs[2];
  return scales.tensor.rank == 1 && scales.tensor.dims[0] == 0 ? nullptr : &scales;
}

/// To a whole number, as attribute nearest_mode says ("simple": as Resize before opset 11).
double nearest(std::string_view mode, double scale, double x) {
  if (mode == "simple") return scale < 1 ? std::ceil(x) : std::floor(x);
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

/// The place of `dim` among the axes that scales are given for; -1 if it is not among them.
std::int64_t place_among_axes(const sluice_op& op, std::int64_t dim) {
  const auto axes = plugin::Attributes(op).get_ints("axes");
  if (axes.empty()) return dim;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (from_front(axes[i], op.inputs[0].tensor.rank) == dim) return static_cast<std::int64_t>(i);
  }
  return -1;
}

Status check_scales(const sluice_op& op) {
  const sluice_operand* scales = scales_of(op);
  if (scales == nullptr) return plugin::ok();
  const std::size_t named = plugin::Attributes(op).get_ints("axes").size();
  const std::int64_t count =
      named > 0 ? static_cast<std::int64_t>(named) : op.inputs[0].tensor.rank;
  // The taps are computed when the kernel is made. The scales must be known by then.
  if (scales->is_constant == 0 || scales->tensor.data == nullptr || scales->tensor.rank != 1 ||
      scales->tensor.element_type != plugin::kF32 || scales->tensor.dims[0] != count) {
    return unimplemented("scales are not constant");
  }
  const auto* values = static_cast<const float*>(scales->tensor.data);
  const bool fit =
      std::all_of(values, values + count, [](float s) { return s > 0 && std::isfinite(s); });
  return fit ? plugin::ok() : unimplemented("scales are not positive");
}

}  // namespace

Status check_resize_attributes(const sluice_op& op, std::initializer_list<std::string_view> modes,
                               std::initializer_list<std::string_view> coordinates) {
  const plugin::Attributes attributes(op);
  if (!is_one_of(attributes.get_text("mode", "nearest"), modes) ||
      !is_one_of(coordinates_of(op), coordinates)) {
    return unimplemented("mode");
  }
  if (attributes.get_text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return unimplemented("attributes");
  }
  const std::int32_t rank = op.inputs[0].tensor.rank;
  if (op.outputs[0].tensor.rank != rank) return unimplemented("a result of another rank");
  for (const std::int64_t axis : attributes.get_ints("axes")) {
    if (axis < -rank || axis >= rank) return unimplemented("axes");
  }
  return check_scales(op);
}

ResizeAxis resize_axis(const sluice_op& op, int dim) {
  ResizeAxis axis = {op.inputs[0].tensor.dims[dim], op.outputs[0].tensor.dims[dim]};
  axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
  const sluice_operand* scales = scales_of(op);
  const std::int64_t place = place_among_axes(op, dim);
  if (scales != nullptr && place >= 0) {
    axis.scale = static_cast<const float*>(scales->tensor.data)[place];
  }
  return axis;
}

double resize_coordinate(const sluice_op& op, const ResizeAxis& axis, double i) {
  const std::string_view mode = coordinates_of(op);
  const auto in = static_cast<double>(axis.in);
  const double resized = axis.scale * in;
  // For one point the formula would divide by 0.
  if (mode == "align_corners") return resized == 1 ? 0 : i * (in - 1) / (resized - 1);
  if (mode == "asymmetric") return i / axis.scale;
  // PyTorch reads the first element where the result has one: the place is clamped to 0.
  if (mode == "pytorch_half_pixel" && resized == 1) return -0.5;
  if (mode == "tf_half_pixel_for_nn") return (i + 0.5) / axis.scale;
  const double centre = (i + 0.5) / axis.scale - 0.5;
  if (mode != "half_pixel_symmetric") return centre;
  return centre + in / 2 * (1 - static_cast<double>(axis.out) / resized);
}

std::vector<ResizeTap> resize_taps(const sluice_op& op, int dim) {
  const plugin::Attributes attributes(op);
  const ResizeAxis axis = resize_axis(op, dim);
  const bool is_nearest = attributes.get_text("mode", "nearest") == "nearest";
  const std::string_view rounding = attributes.get_text("nearest_mode", "round_prefer_floor");
  const auto inside = [&](double x) {
    return static_cast<std::int64_t>(std::clamp(x, 0.0, static_cast<double>(axis.in - 1)));
  };
  std::vector<ResizeTap> taps;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double x = resize_coordinate(op, axis, static_cast<double>(i));
    const double left = is_nearest ? nearest(rounding, axis.scale, x) : std::floor(x);
    // Beyond the border both taps are the same element, and the weight has no effect.
    taps.push_back({inside(left), inside(left + 1), static_cast<float>(x - left)});
  }
  return taps;
}

}  // namespace sluice::cpu
