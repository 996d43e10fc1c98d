// Normalisation and softmax.

#include "kernels/rows/rows.h"

#include <memory>
#include <string_view>

#include "ops/operands/checks.h"
#include "ops/rows/along_axis.h"
#include "ops/rows/double_softmax.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;

bool is_axis(std::int64_t axis, std::int32_t rank) { return axis >= -rank && axis < rank; }

// ---- LayerNormalization, RMSNormalization -------------------------------------------------------

Status check_norm(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const std::int64_t axis = plugin::Attributes(op).get_int("axis", -1);
  if (!is_axis(axis, x.rank)) return plugin::unimplemented("axis out of range");
  // Scale and bias as long as a row: not themselves broadcast.
  const auto row = dims_of(x).subspan(static_cast<std::size_t>(from_front(axis, x.rank)));
  for (int i = 1; i < op.num_inputs; ++i) {
    const sluice_tensor& t = op.inputs[i].tensor;
    if (plugin::is_absent(t)) continue;
    const auto dims = dims_of(t);
    if (!std::equal(dims.begin(), dims.end(), row.begin(), row.end())) {
      return plugin::unimplemented("scale of another shape");
    }
  }
  return check_plain_f32(op);
}

class Norm : public Kernel {
 public:
  Norm(const sluice_op& op, NormKind kind, Isa isa)
      : Kernel(op), run_norm_(SLUICE_CPU_PICK(isa, run_norm)) {
    const plugin::Attributes attributes(op);
    const sluice_tensor& x = op.inputs[0].tensor;
    const std::int64_t axis = from_front(attributes.get_int("axis", -1), x.rank);
    plan_ = {product(dims_of(x), 0, axis), product(dims_of(x), axis, x.rank),
             attributes.get_float("epsilon", 1e-5F), kind};
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const float* bias = op().num_inputs > 2 ? run.input<float>(2) : nullptr;
    NormStatistics statistics;
    if (op().num_outputs > 1) statistics.mean = run.output<float>(1);
    if (op().num_outputs > 2) statistics.inverse_deviation = run.output<float>(2);
    run_norm_(plan_, run.input<float>(0), run.input<float>(1), bias, run.output<float>(0),
              statistics, worker);
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {plan_.rows, plan_.cols, sizeof(float)});
    extents.reads(1, {plan_.cols, sizeof(float)});
    if (has_input(op(), 2)) extents.reads(2, {plan_.cols, sizeof(float)});
    extents.writes(0, {plan_.rows, plan_.cols, sizeof(float)});
    for (int i = 1; i < op().num_outputs; ++i) {
      if (plugin::is_absent(op().outputs[i].tensor)) continue;
      extents.writes(i, {plan_.rows, sizeof(float)});
    }
  }
  double cost_ns() const override {
    return static_cast<double>(plan_.rows) * (static_cast<double>(plan_.cols) * 0.1 + 20);
  }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  NormPlan plan_;
  decltype(&portable::run_norm) run_norm_;
};

template <NormKind kKind>
Status make_norm(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  *kernel = std::make_unique<Norm>(op, kKind, isa);
  return plugin::ok();
}

// ---- Softmax ------------------------------------------------------------------------------------

Status check_softmax(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  if (!is_axis(plugin::Attributes(op).get_int("axis", -1), x.rank)) {
    return plugin::unimplemented("axis out of range");
  }
  if (x.element_type != plugin::kF64) return check_plain_f32(op);
  const bool fits = op.body == nullptr && op.outputs[0].tensor.element_type == plugin::kF64;
  return fits ? plugin::ok() : plugin::unimplemented("fused body");
}

/// Older versions flatten all dimensions from the axis on.
AlongAxis softmax_view(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const bool flattens = op.version < 13;
  const std::int64_t axis =
      from_front(plugin::Attributes(op).get_int("axis", flattens ? 1 : -1), x.rank);
  return {product(dims_of(x), 0, axis), product(dims_of(x), axis, flattens ? x.rank : axis + 1),
          flattens ? 1 : product(dims_of(x), axis + 1, x.rank)};
}

bool is_log_softmax(const sluice_op& op) { return std::string_view(op.kind) == "LogSoftmax"; }

class Softmax : public Kernel {
 public:
  Softmax(const sluice_op& op, Isa isa)
      : Kernel(op), run_softmax_(SLUICE_CPU_PICK(isa, run_softmax)) {
    const AlongAxis view = softmax_view(op);
    plan_.outer = view.outer;
    plan_.axis = view.axis;
    plan_.inner = view.inner;
    plan_.is_log = is_log_softmax(op);
  }

  void run(const Run& run, int, const Worker& worker) const override {
    run_softmax_(plan_, run.input<float>(0), run.output<float>(0), worker);
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {plan_.outer, plan_.axis, plan_.inner, sizeof(float)});
    extents.writes(0, {plan_.outer, plan_.axis, plan_.inner, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(plan_.outer * plan_.axis * plan_.inner) * 0.4;
  }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  SoftmaxPlan plan_;
  decltype(&portable::run_softmax) run_softmax_;
};

Status make_softmax(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (op.inputs[0].tensor.element_type == plugin::kF64) {
    const AlongAxis view = softmax_view(op);
    if (view.elements() == 0) return plugin::unimplemented("an empty tensor");
    *kernel = make_double_softmax(op, view, is_log_softmax(op), isa);
  } else {
    *kernel = std::make_unique<Softmax>(op, isa);
  }
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> row_entries() {
  return {{.kind = "LayerNormalization",
           .check = check_norm,
           .make = make_norm<NormKind::kLayer>,
           .num_required_inputs = 2},
          {.kind = "RMSNormalization",
           .check = check_norm,
           .make = make_norm<NormKind::kRms>,
           .num_required_inputs = 2},
          {.kind = "LogSoftmax", .check = check_softmax, .make = make_softmax},
          {.kind = "Softmax", .check = check_softmax, .make = make_softmax}};
}

}  // namespace sluice::cpu
