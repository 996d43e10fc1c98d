// CumSum.

#include "kernels/rows/cumulative.h"

#include <memory>

#include "ops/elementwise/numbers_of.h"
#include "ops/operands/constants.h"
#include "ops/rows/along_axis.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

class CumulativeSum : public Kernel {
 public:
  CumulativeSum(const sluice_op& op, std::int64_t axis, Isa isa)
      : Kernel(op),
        run_cumulative_(SLUICE_CPU_PICK(isa, run_cumulative)),
        type_(*number_of(op.inputs[0].tensor.element_type)),
        bytes_(element_bytes(op.inputs[0].tensor)) {
    const AlongAxis view = along_axis(op.inputs[0].tensor, axis);
    plan_ = {view.outer, view.axis, view.inner, plugin::Attributes(op).get_int("exclusive") != 0,
             plugin::Attributes(op).get_int("reverse") != 0};
  }

  void run(const Run& run, int, const Worker& worker) const override {
    run_cumulative_(plan_, type_, run.input<void>(0), run.output<void>(0), worker);
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {plan_.outer, plan_.axis, plan_.inner, bytes_});
    extents.writes(0, {plan_.outer, plan_.axis, plan_.inner, bytes_});
  }
  double cost_ns() const override {
    return static_cast<double>(plan_.outer * plan_.axis * plan_.inner) * 0.3;
  }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  decltype(&portable::run_cumulative) run_cumulative_;
  Number type_;
  std::int64_t bytes_;
  CumulativePlan plan_;
};

bool is_summed(sluice_element_type type) {
  switch (type) {
    case plugin::kF32:
    case plugin::kF64:
    case plugin::kI32:
    case plugin::kI64:
    case plugin::kU32:
    case plugin::kU64: return true;
    default: return false;
  }
}

Status check_cumulative(const sluice_op& op) {
  Dims axis;
  if (!constant_integers(op, 1, &axis) || axis.size() != 1) {
    return plugin::unimplemented("an axis at run time");
  }
  const sluice_element_type type = op.inputs[0].tensor.element_type;
  if (!is_summed(type) || op.outputs[0].tensor.element_type != type) {
    return plugin::unimplemented("no form for the type");
  }
  return check_axis(op, axis[0]);
}

Status make_cumulative(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  Dims axis;
  constant_integers(op, 1, &axis);
  *kernel = std::make_unique<CumulativeSum>(op, axis[0], isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> cumulative_entries() {
  return {{.kind = "CumSum", .check = check_cumulative, .make = make_cumulative}};
}

}  // namespace sluice::cpu
