#include "kernels/rows/group_norm.h"

#include "kernels/rows/row_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

void run_group_norm(const GroupNormPlan& plan, const float* x, const float* scale,
                    const float* bias, float* y, const Worker& worker) {
  const std::int64_t size = plan.channels * plan.inner;
  const Share share = share_of(plan.rows, 1, worker);
  for (std::int64_t row = share.begin; row < share.end; ++row) {
    const float* from = x + row * size;
    const std::int64_t group = row % plan.groups;
    const float count = static_cast<float>(size);
    const float mean = reduce_add(fold_row(
                           from, size, 0, [](Vec v) { return v; }, add)) /
                       count;
    const Vec center = broadcast(mean);
    const auto square = [=](Vec v) { return (v - center) * (v - center); };
    const float variance = reduce_add(fold_row(from, size, 0, square, add)) / count;
    const float inverse = 1.0f / __builtin_sqrtf(variance + plan.epsilon);
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const std::int64_t at = plan.scales_groups ? group : group * plan.channels + c;
      const Vec factor = broadcast(inverse * scale[at]);
      const Vec shift = broadcast(bias[at]);
      map_row(from + c * plan.inner, y + row * size + c * plan.inner, plan.inner,
              [=](Vec v, std::int64_t, int) { return fmadd(v - center, factor, shift); });
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
