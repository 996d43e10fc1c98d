// NonZero.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

/// Elements are looked at by their bits, without the sign of a float: denormal numbers, which count
/// as zero in arithmetic, are not zero here.
bool is_float(sluice_element_type type) {
  return type == plugin::kF32 || type == plugin::kF64 || type == plugin::kF16 ||
         type == plugin::kBf16;
}

bool is_integer(sluice_element_type type) {
  constexpr sluice_element_type kTypes[] = {plugin::kBool, plugin::kU8,  plugin::kI8,
                                            plugin::kU16,  plugin::kI16, plugin::kU32,
                                            plugin::kI32,  plugin::kU64, plugin::kI64};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

/// The elements are counted first, because the coordinates along an axis lie side by side; then
/// lines of the last axis are written. One worker does it: where a line's coordinates go depends on
/// all lines before.
class NonZero : public Kernel {
 public:
  explicit NonZero(const sluice_op& op)
      : Kernel(op),
        dims_(dims_of(op.inputs[0].tensor).begin(), dims_of(op.inputs[0].tensor).end()),
        bytes_(element_bytes(op.inputs[0].tensor)),
        is_float_(is_float(op.inputs[0].tensor.element_type)) {
    if (dims_.empty()) dims_.push_back(1);  // a scalar counts as a vector of one
  }

  bool is_serial() const override { return true; }

  void run(const Run& run, int, const Worker&) const override {
    switch (bytes_) {
      case 1: return find<std::uint8_t>(run);
      case 2: return find<std::uint16_t>(run);
      case 4: return find<std::uint32_t>(run);
      default: return find<std::uint64_t>(run);
    }
  }

  void extents(Extents& extents) const override {
    const auto y = dims_of(op().outputs[0].tensor);
    extents.reads(0, {plugin::num_elements(dims_), bytes_});
    extents.writes(0, {y[0], y[1], sizeof(std::int64_t)});
  }
  double cost_ns() const override { return static_cast<double>(plugin::num_elements(dims_)) * 1.5; }

 private:
  template <typename Bits>
  void find(const Run& run) const {
    const auto* x = run.input<Bits>(0);
    const std::int64_t size = plugin::num_elements(dims_);
    const int shift = is_float_ ? 1 : 0;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < size; ++i) count += is_set(x[i], shift) ? 1 : 0;
    const auto rank = static_cast<std::int64_t>(dims_.size());
    if (count > dims_of(op().outputs[0].tensor)[1]) {
      return run.fail(plugin::invalid_argument("NonZero: the output is too small"));
    }
    write(x, shift, count, run.output<std::int64_t>(0));
    if (std::int64_t* dims = run.actual_dims()[0]; dims != nullptr) {
      dims[0] = rank;
      dims[1] = count;
    }
  }

  template <typename Bits>
  static bool is_set(Bits x, int shift) {
    return static_cast<Bits>(x << shift) != 0;
  }

  /// Coordinate d of element n goes to y[d * count + n].
  template <typename Bits>
  void write(const Bits* x, int shift, std::int64_t count, std::int64_t* y) const {
    const std::size_t last = dims_.size() - 1;
    std::vector<std::int64_t> at(last, 0);
    std::int64_t* columns = y + static_cast<std::int64_t>(last) * count;
    for (std::int64_t n = 0; n < count; x += dims_[last]) {
      const std::int64_t first = n;
      // Without a branch on the element, which nobody can foresee.
      for (std::int64_t c = 0; c < dims_[last] && n < count; ++c) {
        columns[n] = c;
        n += is_set(x[c], shift) ? 1 : 0;
      }
      for (std::size_t d = 0; d < last; ++d) {
        std::fill_n(y + static_cast<std::int64_t>(d) * count + first, n - first, at[d]);
      }
      for (std::size_t d = last; d-- > 0 && ++at[d] == dims_[d];) at[d] = 0;
    }
  }

  std::vector<std::int64_t> dims_;
  std::int64_t bytes_;
  bool is_float_;
};

Status check_non_zero(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (!is_float(x.element_type) && !is_integer(x.element_type)) return unimplemented("such a type");
  const bool fits = x.layout == SLUICE_LAYOUT_ROW_MAJOR && y.element_type == plugin::kI64 &&
                    y.rank == 2 && y.layout == SLUICE_LAYOUT_ROW_MAJOR;
  return fits ? plugin::ok() : unimplemented("an output that does not fit");
}

Status make_non_zero(const sluice_op& op, Isa /*isa*/, std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor& x = op.inputs[0].tensor;
  if (op.outputs[0].tensor.dims[0] != std::max(x.rank, 1)) {
    return unimplemented("an output that does not fit");
  }
  *kernel = std::make_unique<NonZero>(op);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> non_zero_entries() {
  return {{.kind = "NonZero", .check = check_non_zero, .make = make_non_zero}};
}

}  // namespace sluice::cpu
