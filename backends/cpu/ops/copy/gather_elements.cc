// GatherElements: elements at indices that replace their own place along one axis.

#include <memory>
#include <utility>

#include "kernels/elements/gather.h"
#include "ops/operands/broadcast.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

/// Lines of indices are divided into pieces, so that each is read once: a piece remembers its first
/// index that is outside, and the second phase reports the first of all.
class GatherElements : public Kernel {
 public:
  GatherElements(const sluice_op& op, std::int64_t axis, GatherLoop gather)
      : Kernel(op),
        gather_(gather),
        axis_(static_cast<std::size_t>(axis)),
        dims_(dims_of(op.inputs[1].tensor).begin(), dims_of(op.inputs[1].tensor).end()),
        bytes_(element_bytes(op.inputs[0].tensor)),
        index_bytes_(element_bytes(op.inputs[1].tensor)) {
    const auto data = dims_of(op.inputs[0].tensor);
    const auto rank = static_cast<std::int64_t>(data.size());
    for (std::int64_t d = 0; d < rank; ++d) strides_.push_back(product(data, d + 1, rank));
    line_.length = data[axis_];
    line_.count = dims_.back();
    line_.stride = strides_[axis_];
    line_.step = axis + 1 == rank ? 0 : 1;
    lines_ = product(dims_, 0, rank - 1);
  }

  int phases() const override { return 2; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    auto* outside = reinterpret_cast<std::int64_t*>(run.shared());
    if (phase == 1) {
      if (worker.index == 0) report(run, outside);
      return;
    }
    const Share share = share_of(kPieces, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      outside[i] = run_lines(run, share_of(lines_, 1, {static_cast<int>(i), kPieces}));
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(1, {lines_, line_.count, index_bytes_});
    extents.writes(0, {lines_, line_.count, bytes_});
  }
  std::int64_t shared_bytes() const override { return kPieces * sizeof(std::int64_t); }
  double cost_ns() const override {
    return static_cast<double>(lines_) * (20 + static_cast<double>(line_.count) * 0.8);
  }

 private:
  static constexpr int kPieces = 64;

  /// The place of the first index that is outside; -1 if there is none.
  std::int64_t run_lines(const Run& run, Share lines) const {
    std::int64_t outside = -1;
    GatherLine line = line_;
    for (std::int64_t i = lines.begin; i < lines.end; ++i) {
      line.data = run.input<std::byte>(0) + base_of(i) * bytes_;
      line.indices = run.input<std::byte>(1) + i * line_.count * index_bytes_;
      line.out = run.output<std::byte>(0) + i * line_.count * bytes_;
      const std::int64_t found = gather_(line);
      if (found >= 0 && outside < 0) outside = i * line_.count + found;
    }
    return outside;
  }

  /// The element of the data where a line begins, at index 0.
  std::int64_t base_of(std::int64_t line) const {
    std::int64_t base = 0;
    for (std::size_t d = dims_.size() - 1; d-- > 0; line /= dims_[d]) {
      if (d != axis_) base += line % dims_[d] * strides_[d];
    }
    return base;
  }

  void report(const Run& run, const std::int64_t* outside) const {
    for (int i = 0; i < kPieces; ++i) {
      if (outside[i] < 0) continue;
      const std::int64_t given = index_bytes_ == 8 ? run.input<std::int64_t>(1)[outside[i]]
                                                   : run.input<std::int32_t>(1)[outside[i]];
      return run.fail(plugin::index_outside(given, static_cast<std::int64_t>(axis_), line_.length));
    }
  }

  GatherLoop gather_;
  std::size_t axis_;
  Dims dims_;     ///< of the indices
  Dims strides_;  ///< of the data, in elements
  std::int64_t bytes_, index_bytes_;
  std::int64_t lines_ = 0;
  GatherLine line_;
};

Status check_gather_elements(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& data = op.inputs[0].tensor;
  const sluice_tensor& indices = op.inputs[1].tensor;
  for (const sluice_tensor* tensor : {&data, &indices, &op.outputs[0].tensor}) {
    if (tensor->layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("blocked layout");
  }
  if (indices.element_type != plugin::kI64 && indices.element_type != plugin::kI32) {
    return unimplemented("indices of other types");
  }
  const int bits = plugin::element_bits(data.element_type);
  if (bits < 8 || bits > 64) return unimplemented("elements of another size");
  const std::int64_t axis = plugin::Attributes(op).get_int("axis");
  if (data.rank < 1 || indices.rank != data.rank || axis < -data.rank || axis >= data.rank) {
    return unimplemented("axis out of range");
  }
  return plugin::ok();
}

Status make_gather_elements(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto data = dims_of(op.inputs[0].tensor);
  const auto indices = dims_of(op.inputs[1].tensor);
  const std::int64_t axis =
      from_front(plugin::Attributes(op).get_int("axis"), static_cast<std::int64_t>(data.size()));
  for (std::size_t d = 0; d < data.size(); ++d) {
    if (d != static_cast<std::size_t>(axis) && indices[d] > data[d]) {
      return unimplemented("shapes that do not fit");  // the reference kernel reports them
    }
  }
  if (!same_dims(op.inputs[1].tensor, op.outputs[0].tensor) || plugin::num_elements(indices) < 1 ||
      plugin::num_elements(data) < 0) {
    return unimplemented("shapes that do not fit, or are empty");
  }
  const GatherLoop gather = SLUICE_CPU_PICK(isa, gather_loop)(element_bytes(op.inputs[0].tensor),
                                                              element_bytes(op.inputs[1].tensor));
  if (gather == nullptr) return unimplemented("elements of another size");
  *kernel = std::make_unique<GatherElements>(op, axis, gather);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> gather_elements_entries() {
  return {{.kind = "GatherElements",
           .check = check_gather_elements,
           .make = make_gather_elements,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
