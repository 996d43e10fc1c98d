#include "ops/rows/dequantize_rows.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/divide.h"
#include "kernels/bytes/bytes.h"
#include "ops/rows/along_axis.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

enum QuantizedInput { kNumbers, kScales, kZeros };

/// Where the scale of [outer][axis][inner] lies; `block` places of the axis share one.
struct ScaleStrides {
  std::int64_t outer = 0, block_stride = 0, inner = 0;
  std::int64_t block = 1;
};

/// y = (x - zero) * scale, of which the difference is exact and the product is rounded once.
template <typename T>
class DequantizeRows : public Kernel {
 public:
  DequantizeRows(const sluice_op& op, const AlongAxis& view, const ScaleStrides& strides, Isa isa)
      : Kernel(op),
        view_(view),
        strides_(strides),
        dequantize_(SLUICE_CPU_PICK(isa, dequantize_bytes)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const T* zeros = has_input(op(), kZeros) ? run.input<T>(kZeros) : nullptr;
    const std::int64_t blocks = divide_up(view_.axis, strides_.block);
    const Share share = share_of(view_.outer * blocks, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t outer = i / blocks;
      const std::int64_t begin = i % blocks * strides_.block;
      const std::int64_t end = std::min(begin + strides_.block, view_.axis);
      const std::int64_t first = (outer * view_.axis + begin) * view_.inner;
      const std::int64_t scale = outer * strides_.outer + i % blocks * strides_.block_stride;
      const T* x = run.input<T>(kNumbers) + first;
      float* y = run.output<float>(0) + first;
      const float* scales = run.input<float>(kScales) + scale;
      const T* own_zeros = zeros == nullptr ? nullptr : zeros + scale;
      if (strides_.inner == 0) {
        scale_all(x, (end - begin) * view_.inner, *scales, own_zeros, y);
        continue;
      }
      for (std::int64_t at = 0; at < (end - begin) * view_.inner; at += view_.inner) {
        scale_each(x + at, scales, own_zeros, y + at);
      }
    }
  }

  void extents(Extents& extents) const override {
    const std::int64_t scales = plugin::num_elements(op().inputs[kScales].tensor);
    extents.reads(kNumbers, {view_.outer, view_.axis, view_.inner, sizeof(T)});
    extents.reads(kScales, {scales, sizeof(float)});
    if (has_input(op(), kZeros)) extents.reads(kZeros, {scales, sizeof(T)});
    extents.writes(0, {view_.outer, view_.axis, view_.inner, sizeof(float)});
  }
  double cost_ns() const override { return static_cast<double>(view_.elements()) * 0.6; }

 private:
  void scale_all(const T* x, std::int64_t count, float scale, const T* zero, float* y) const {
    const std::int32_t offset = zero == nullptr ? 0 : *zero;
    dequantize_(reinterpret_cast<const std::uint8_t*>(x), count,
                {scale, offset, std::is_signed_v<T>}, y);
  }
  void scale_each(const T* x, const float* scales, const T* zeros, float* y) const {
    for (std::int64_t i = 0; i < view_.inner; ++i) {
      const std::int32_t offset = zeros == nullptr ? 0 : zeros[i];
      y[i] = static_cast<float>(x[i] - offset) * scales[i];
    }
  }

  AlongAxis view_;
  ScaleStrides strides_;
  decltype(&portable::dequantize_bytes) dequantize_;
};

/// The strides of the scales that the operation has, and its view, in which an axis of channels at
/// the end is the inner one.
Status read_scales(const sluice_op& op, AlongAxis* view, ScaleStrides* strides) {
  const sluice_tensor& x = op.inputs[kNumbers].tensor;
  const sluice_tensor& scales = op.inputs[kScales].tensor;
  const std::int64_t axis = plugin::Attributes(op).get_int("axis", 1);
  const std::int64_t block = plugin::Attributes(op).get_int("block_size");
  const std::int64_t count = plugin::num_elements(scales);
  if (block == 0 && count == 1) {
    *view = {1, 1, plugin::num_elements(x)};
    return plugin::ok();
  }
  if (axis < -x.rank || axis >= x.rank) return unimplemented("axis out of range");
  *view = along_axis(x, axis);
  if (block == 0 && scales.rank == 1 && count == view->axis) {
    if (view->inner > 1) {
      *strides = {0, 1, 0, 1};
    } else {
      *view = {1, view->outer, view->axis};
      *strides = {0, 0, 1, 1};
    }
    return plugin::ok();
  }
  const std::int64_t blocks = block > 0 ? divide_up(view->axis, block) : 0;
  if (blocks == 0 || scales.rank != x.rank) return unimplemented("scales of another shape");
  for (std::int32_t d = 0; d < x.rank; ++d) {
    const bool is_axis = d == from_front(axis, x.rank);
    if (scales.dims[d] != (is_axis ? blocks : x.dims[d])) return unimplemented("other blocks");
  }
  *strides = {blocks * view->inner, view->inner, view->inner > 1 ? 1 : 0, block};
  return plugin::ok();
}

}  // namespace

Status check_dequantize_rows(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[kNumbers].tensor;
  const sluice_tensor& scales = op.inputs[kScales].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  const bool is_byte = x.element_type == plugin::kU8 || x.element_type == plugin::kI8;
  if (!is_byte || scales.element_type != plugin::kF32 || y.element_type != plugin::kF32) {
    return unimplemented("not from bytes to f32");
  }
  if (has_input(op, kZeros) && op.inputs[kZeros].tensor.element_type != x.element_type) {
    return unimplemented("zero points of another type");
  }
  for (const sluice_tensor* tensor : {&x, &scales, &y}) {
    if (tensor->layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("blocked layout");
  }
  return plugin::ok();
}

Status make_dequantize_rows(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor& x = op.inputs[kNumbers].tensor;
  if (!same_dims(x, op.outputs[0].tensor) || plugin::num_elements(x) < 1 ||
      (has_input(op, kZeros) && !same_dims(op.inputs[kZeros].tensor, op.inputs[kScales].tensor))) {
    return unimplemented("shapes that do not fit, or are empty");
  }
  AlongAxis view;
  ScaleStrides strides;
  if (Status status = read_scales(op, &view, &strides); !status.is_ok()) return status;
  if (x.element_type == plugin::kU8) {
    *kernel = std::make_unique<DequantizeRows<std::uint8_t>>(op, view, strides, isa);
  } else {
    *kernel = std::make_unique<DequantizeRows<std::int8_t>>(op, view, strides, isa);
  }
  return plugin::ok();
}

}  // namespace sluice::cpu
