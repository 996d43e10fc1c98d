#include "kernels/matrix/gemm.h"
#include "kernels/sequence/gru.h"
#include "kernels/sequence/gru_panels.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

std::int64_t packed_gru_w_floats(const GruPlan& plan) {
  return packed_gemm_b_floats(plan.inputs, plan.gates * padded_units(plan));
}

std::int64_t packed_gru_r_floats(const GruPlan& plan) {
  return plan.hidden * plan.gates * padded_units(plan);
}

/// One for each gate; behind them the candidate's of R, which reset multiplies if it comes first.
std::int64_t packed_gru_bias_floats(const GruPlan& plan) {
  return (plan.gates + 1) * padded_units(plan);
}

void pack_gru_w(const GruPlan& plan, const float* w, float* temporary, float* packed) {
  const std::int64_t units = padded_units(plan);
  for (std::int64_t gate = 0; gate < plan.gates; ++gate) {
    for (std::int64_t u = 0; u < units; ++u) {
      float* to = temporary + (gate * units + u) * plan.inputs;
      const float* from = w + (gate * plan.hidden + u) * plan.inputs;
      for (std::int64_t i = 0; i < plan.inputs; ++i) to[i] = u < plan.hidden ? from[i] : 0;
    }
  }
  pack_gemm_b(temporary, 1, plan.inputs, plan.inputs, plan.gates * units, 1, packed);
}

void pack_gru_r(const GruPlan& plan, const float* r, float* packed) {
  const GateGroups groups(plan);
  for (int g = 0; g < groups.count; ++g) {
    const GateGroup& group = groups.all[g];
    const std::int64_t width = group.units * kLanes;
    for (std::int64_t first = 0; first < padded_units(plan); first += width) {
      for (std::int64_t p = 0; p < plan.hidden; ++p) {
        for (std::int64_t gate = group.first; gate < group.first + group.gates; ++gate) {
          for (std::int64_t u = first; u < first + width; ++u) {
            *packed++ = u < plan.hidden ? r[(gate * plan.hidden + u) * plan.hidden + p] : 0;
          }
        }
      }
    }
  }
}

void pack_gru_bias(const GruPlan& plan, const float* bias, float* packed) {
  const std::int64_t units = padded_units(plan);
  const float* of_r = bias == nullptr ? nullptr : bias + plan.gates * plan.hidden;
  for (std::int64_t gate = 0; gate <= plan.gates; ++gate) {
    const bool is_apart = gate == plan.gates;
    const bool is_split = plan.is_linear_first && gate == 2;
    for (std::int64_t u = 0; u < units; ++u) {
      float& to = packed[gate * units + u] = 0;
      if (bias == nullptr || u >= plan.hidden) continue;
      const std::int64_t row = (is_apart ? plan.gates - 1 : gate) * plan.hidden + u;
      to = is_apart ? of_r[row] : is_split ? bias[row] : bias[row] + of_r[row];
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
