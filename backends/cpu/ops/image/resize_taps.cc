#include "ops/image/resize_taps.h"

#include <algorithm>
#include <cmath>

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

Status check_scales(const sluice_op& op) {
  const sluice_operand* scales = scales_of(op);
  if (scales == nullptr) return plugin::ok();
  const std::int32_t rank = op.inputs[0].tensor.rank;
  // The taps are computed when the kernel is made. The scales must be known by then.
  if (scales->is_constant == 0 || scales->tensor.data == nullptr || scales->tensor.rank != 1 ||
      scales->tensor.element_type != plugin::kF32 || scales->tensor.dims[0] != rank) {
    return unimplemented("scales are not constant");
  }
  const auto* values = static_cast<const float*>(scales->tensor.data);
  const bool fit =
      std::all_of(values, values + rank, [](float s) { return s > 0 && std::isfinite(s); });
  return fit ? plugin::ok() : unimplemented("scales are not positive");
}

}  // namespace

Status check_resize_attributes(const sluice_op& op, std::initializer_list<std::string_view> modes) {
  const plugin::Attributes attributes(op);
  const std::string_view mode = attributes.get_text("mode", "nearest");
  if (!is_one_of(mode, modes) || !is_one_of(coordinates_of(op), {"half_pixel", "pytorch_half_pixel",
                                                                 "asymmetric", "align_corners"})) {
    return unimplemented("mode");
  }
  if (attributes.get_int("antialias") != 0 ||
      (attributes.get_int("exclude_outside") != 0 && mode != "cubic") ||
      !attributes.get_ints("axes").empty() ||
      attributes.get_text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return unimplemented("attributes");
  }
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (y.rank != x.rank) return unimplemented("a result of another rank");
  if (x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1]) return unimplemented("resized channels");
  return check_scales(op);
}

ResizeAxis resize_axis(const sluice_op& op, int dim) {
  ResizeAxis axis = {op.inputs[0].tensor.dims[dim], op.outputs[0].tensor.dims[dim]};
  const sluice_operand* scales = scales_of(op);
  axis.scale = scales != nullptr ? static_cast<const float*>(scales->tensor.data)[dim]
                                 : static_cast<double>(axis.out) / static_cast<double>(axis.in);
  return axis;
}

double resize_coordinate(const sluice_op& op, const ResizeAxis& axis, double i) {
  const std::string_view mode = coordinates_of(op);
  const auto in = static_cast<double>(axis.in);
  const double resized = axis.scale * in;
  // Of one point the formula would divide by 0.
  if (mode == "align_corners") return resized == 1 ? 0 : i * (in - 1) / (resized - 1);
  if (mode == "asymmetric") return i / axis.scale;
  // PyTorch reads the first element where the result has one: the place is clamped to 0.
  if (mode == "pytorch_half_pixel" && resized == 1) return -0.5;
  return (i + 0.5) / axis.scale - 0.5;
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
