// GroupNormalization and InstanceNormalization.

#include "kernels/rows/group_norm.h"

#include <memory>
#include <string_view>
#include <vector>

#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;

std::int64_t groups_of(const sluice_op& op) {
  if (std::string_view(op.kind) == "InstanceNormalization") return op.inputs[0].tensor.dims[1];
  return plugin::Attributes(op).get_int("num_groups");
}

class GroupNorm : public Kernel {
 public:
  GroupNorm(const sluice_op& op, const GroupNormPlan& plan, Isa isa)
      : Kernel(op), plan_(plan), run_group_norm_(SLUICE_CPU_PICK(isa, run_group_norm)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    run_group_norm_(plan_, run.input<float>(0), run.input<float>(1), run.input<float>(2),
                    run.output<float>(0), worker);
  }
  void extents(Extents& extents) const override {
    const std::int64_t scales = plan_.scales_groups ? plan_.groups : plan_.groups * plan_.channels;
    extents.reads(0, {plan_.rows, plan_.channels, plan_.inner, sizeof(float)});
    extents.reads(1, {scales, sizeof(float)});
    extents.reads(2, {scales, sizeof(float)});
    extents.writes(0, {plan_.rows, plan_.channels, plan_.inner, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(plan_.rows) *
           (static_cast<double>(plan_.channels * plan_.inner) * 0.1 + 20);
  }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  GroupNormPlan plan_;
  decltype(&portable::run_group_norm) run_group_norm_;
};

Status check_group_norm(const sluice_op& op) {
  if (op.num_inputs != 3 || op.inputs[0].tensor.rank < 2) return plugin::unimplemented("operands");
  return check_plain_f32(op);
}

Status make_group_norm(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto dims = dims_of(op.inputs[0].tensor);
  const std::int64_t groups = groups_of(op);
  if (groups < 1 || dims[1] % groups != 0 || plugin::num_elements(op.inputs[0].tensor) == 0) {
    return plugin::unimplemented("groups that do not fit");
  }
  GroupNormPlan plan;
  plan.groups = groups;
  plan.rows = dims[0] * groups;
  plan.channels = dims[1] / groups;
  plan.inner = product(dims, 2, static_cast<std::int64_t>(dims.size()));
  plan.epsilon = plugin::Attributes(op).get_float("epsilon", 1e-5F);
  // Version 18 of GroupNormalization has a scale per group.
  const std::int64_t scales = plugin::num_elements(op.inputs[1].tensor);
  plan.scales_groups = scales == groups && scales != dims[1];
  const std::int64_t expected = plan.scales_groups ? groups : dims[1];
  if (scales != expected || plugin::num_elements(op.inputs[2].tensor) != expected) {
    return plugin::unimplemented("scale of another shape");
  }
  *kernel = std::make_unique<GroupNorm>(op, plan, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> group_norm_entries() {
  return {{.kind = "GroupNormalization",
           .check = check_group_norm,
           .make = make_group_norm,
           .num_required_inputs = 3},
          {.kind = "InstanceNormalization",
           .check = check_group_norm,
           .make = make_group_norm,
           .num_required_inputs = 3}};
}

}  // namespace sluice::cpu
