#include "kernels/rows/group_norm.h"

#include "kernels/rows/row_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

namespace {

/// Where squares leave the range of floats: in double, for a run of huge or tiny numbers.
__attribute__((noinline, cold)) void norm_in_double(const GroupNormPlan& plan, const float* x,
                                                    const float* scale, const float* bias, float* y,
                                                    std::int64_t group) {
  const std::int64_t size = plan.channels * plan.inner;
  double mean = 0;
  double variance = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    mean += static_cast<double>(x[i]) / static_cast<double>(size);
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const double v = static_cast<double>(x[i]) - mean;
    variance += v * v / static_cast<double>(size);
  }
  const double inverse = 1.0 / __builtin_sqrt(variance + static_cast<double>(plan.epsilon));
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t channel = group * plan.channels + i / plan.inner;
    const std::int64_t at = plan.scales_groups ? group : channel;
    const double normal = (static_cast<double>(x[i]) - mean) * inverse;
    y[i] =
        static_cast<float>(normal * static_cast<double>(scale[at]) + static_cast<double>(bias[at]));
  }
}

}  // namespace

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
    if (leaves_range(variance, plan.epsilon)) {
      norm_in_double(plan, from, scale, bias, y + row * size, group);
      continue;
    }
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
