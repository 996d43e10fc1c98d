// Resize of images in c16, to the nearest pixel or linearly.

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "kernels/image/resize_row.h"
#include "ops/image/window.h"
#include "plugin/registry.h"

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

Status check_attributes(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  if (!is_one_of(attributes.get_text("mode", "nearest"), {"nearest", "linear"}) ||
      !is_one_of(coordinates_of(op),
                 {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"})) {
    return unimplemented("mode");
  }
  if (attributes.get_int("antialias") != 0 || attributes.get_int("exclude_outside") != 0 ||
      !attributes.get_ints("axes").empty() ||
      attributes.get_text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return unimplemented("attributes");
  }
  return plugin::ok();
}

Status check_resize(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.layout != SLUICE_LAYOUT_C16 || y.layout != SLUICE_LAYOUT_C16) {
    return unimplemented("not in c16");
  }
  if (Status status = check_image(x); !status.is_ok()) return status;
  if (x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1]) return unimplemented("resized channels");
  if (const sluice_operand* scales = scales_of(op)) {
    if (scales->is_constant == 0 || scales->tensor.data == nullptr ||
        scales->tensor.element_type != plugin::kF32 || scales->tensor.dims[0] != x.rank) {
      return unimplemented("scales are not constant");
    }
    const auto* values = static_cast<const float*>(scales->tensor.data);
    const bool fit =
        std::all_of(values, values + x.rank, [](float s) { return s > 0 && std::isfinite(s); });
    if (!fit) return unimplemented("scales are not positive");
  }
  return check_attributes(op);
}

/// Where output `i` lies among the inputs.
double coordinate(std::string_view mode, double i, double scale, double in) {
  const double resized = scale * in;
  if (mode == "align_corners") return resized == 1 ? 0 : i * (in - 1) / (resized - 1);
  if (mode == "asymmetric") return i / scale;
  if (mode == "pytorch_half_pixel" && resized == 1) return -0.5;
  return (i + 0.5) / scale - 0.5;
}

/// To a whole number, as attribute nearest_mode says ("simple": as Resize before opset 11).
double nearest(std::string_view mode, double scale, double x) {
  if (mode == "simple") return scale < 1 ? std::ceil(x) : std::floor(x);
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

std::vector<ResizeTap> taps_along(const sluice_op& op, int dim) {
  const plugin::Attributes attributes(op);
  const std::int64_t in = op.inputs[0].tensor.dims[dim];
  const std::int64_t out = op.outputs[0].tensor.dims[dim];
  const sluice_operand* scales = scales_of(op);
  const double scale = scales != nullptr ? static_cast<const float*>(scales->tensor.data)[dim]
                                         : static_cast<double>(out) / static_cast<double>(in);
  const bool is_nearest = attributes.get_text("mode", "nearest") == "nearest";
  const std::string_view rounding = attributes.get_text("nearest_mode", "round_prefer_floor");
  const auto inside = [in](double x) {
    return static_cast<std::int64_t>(std::clamp(x, 0.0, static_cast<double>(in - 1)));
  };
  std::vector<ResizeTap> taps;
  for (std::int64_t i = 0; i < out; ++i) {
    const double x =
        coordinate(coordinates_of(op), static_cast<double>(i), scale, static_cast<double>(in));
    const double left = is_nearest ? nearest(rounding, scale, x) : std::floor(x);
    taps.push_back({inside(left), inside(left + 1), static_cast<float>(x - left)});
  }
  return taps;
}

class Resize : public Kernel {
 public:
  Resize(const sluice_op& op, Isa isa)
      : Kernel(op),
        is_nearest_(plugin::Attributes(op).get_text("mode", "nearest") == "nearest"),
        input_(spatial_extent(plugin::dims_of(op.inputs[0].tensor))),
        blocks_(op.inputs[0].tensor.dims[0] * blocks_of(op.inputs[0].tensor.dims[1])),
        cols_(taps_along(op, op.inputs[0].tensor.rank - 1)),
        nearest_(SLUICE_CPU_PICK(isa, resize_row_nearest)),
        linear_(SLUICE_CPU_PICK(isa, resize_row_linear)) {
    rows_ = op.inputs[0].tensor.rank == 4 ? taps_along(op, 2) : std::vector<ResizeTap>(1);
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const auto rows = static_cast<std::int64_t>(rows_.size());
    const auto cols = static_cast<std::int64_t>(cols_.size());
    const Share share = share_of(blocks_ * rows, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const ResizeTap& tap = rows_[static_cast<std::size_t>(i % rows)];
      const float* block = run.input<float>(0) + i / rows * input_.h * input_.w * kBlock;
      const float* first = block + tap.first * input_.w * kBlock;
      float* output = run.output<float>(0) + i * cols * kBlock;
      if (is_nearest_) {
        nearest_(cols_.data(), cols, first, output);
      } else {
        linear_(cols_.data(), cols, first, block + tap.second * input_.w * kBlock,
                tap.second_weight, output);
      }
    }
  }
  double cost_ns() const override {
    return static_cast<double>(blocks_) * static_cast<double>(rows_.size() * cols_.size()) * 2;
  }

 private:
  bool is_nearest_;
  Extent input_;
  std::int64_t blocks_;
  std::vector<ResizeTap> rows_;
  std::vector<ResizeTap> cols_;
  decltype(&portable::resize_row_nearest) nearest_;
  decltype(&portable::resize_row_linear) linear_;
};

Status make_resize(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const Extent in = spatial_extent(plugin::dims_of(op.inputs[0].tensor));
  if (in.h < 1 || in.w < 1) return unimplemented("an empty image");
  *kernel = std::make_unique<Resize>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> resize_entries() {
  return {{.kind = "Resize", .check = check_resize, .make = make_resize}};
}

}  // namespace sluice::cpu
