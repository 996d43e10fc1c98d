// OneHot, of indices of i32 or i64 and values of one to eight bytes.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "ops/rows/along_axis.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

enum OneHotInput { kIndices, kDepth, kValues };

/// Rows of the off-value are filled, then the on-values stored: each byte of the result is written
/// once or twice, whatever the depth. `T` has the size of an element.
template <typename T, typename Index>
class OneHot : public Kernel {
 public:
  OneHot(const sluice_op& op, const AlongAxis& view) : Kernel(op), view_(view) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const T off = run.input<T>(kValues)[0];
    const T on = run.input<T>(kValues)[1];
    const auto depth = static_cast<Index>(view_.axis);
    const Share share = share_of(view_.outer, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      T* slab = run.output<T>(0) + i * view_.axis * view_.inner;
      std::fill_n(slab, view_.axis * view_.inner, off);
      for (std::int64_t j = 0; j < view_.inner; ++j) {
        const Index given = run.input<Index>(kIndices)[i * view_.inner + j];
        if (given < -depth || given >= depth) continue;
        slab[(given < 0 ? given + depth : given) * view_.inner + j] = on;
      }
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(kIndices, {view_.outer, view_.inner, sizeof(Index)});
    extents.reads(kValues, {2, sizeof(T)});
    extents.writes(0, {view_.outer, view_.axis, view_.inner, sizeof(T)});
  }
  double cost_ns() const override {
    return static_cast<double>(view_.elements()) * 0.03 * sizeof(T) +
           static_cast<double>(view_.outer * view_.inner) * 2;
  }

 private:
  AlongAxis view_;
};

Status check_one_hot(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& indices = op.inputs[kIndices].tensor;
  const sluice_tensor& values = op.inputs[kValues].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (indices.element_type != plugin::kI64 && indices.element_type != plugin::kI32) {
    return unimplemented("indices of other types");
  }
  const int bits = plugin::element_bits(values.element_type);
  if (values.element_type != y.element_type || values.rank != 1 || bits < 8 || bits > 64) {
    return unimplemented("values of other types");
  }
  const std::int64_t axis = plugin::Attributes(op).get_int("axis", -1);
  const bool fits = y.rank == indices.rank + 1 && axis >= -y.rank && axis < y.rank;
  return fits ? plugin::ok() : unimplemented("axis out of range");
}

template <typename T>
std::unique_ptr<Kernel> make_of_size(const sluice_op& op, const AlongAxis& view) {
  if (op.inputs[kIndices].tensor.element_type == plugin::kI64) {
    return std::make_unique<OneHot<T, std::int64_t>>(op, view);
  }
  return std::make_unique<OneHot<T, std::int32_t>>(op, view);
}

Status make_one_hot(const sluice_op& op, Isa /*isa*/, std::unique_ptr<Kernel>* kernel) {
  const AlongAxis view =
      along_axis(op.outputs[0].tensor, plugin::Attributes(op).get_int("axis", -1));
  if (plugin::num_elements(op.inputs[kValues].tensor) != 2 || view.elements() == 0 ||
      view.axis > INT32_MAX ||
      view.outer * view.inner != plugin::num_elements(op.inputs[kIndices].tensor)) {
    return unimplemented("shapes that do not fit, or are empty");
  }
  switch (element_bytes(op.outputs[0].tensor)) {
    case 1: *kernel = make_of_size<std::uint8_t>(op, view); break;
    case 2: *kernel = make_of_size<std::uint16_t>(op, view); break;
    case 4: *kernel = make_of_size<std::uint32_t>(op, view); break;
    case 8: *kernel = make_of_size<std::uint64_t>(op, view); break;
    default: return unimplemented("values of another size");
  }
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> one_hot_entries() {
  return {
      {.kind = "OneHot", .check = check_one_hot, .make = make_one_hot, .num_required_inputs = 3}};
}

}  // namespace sluice::cpu
