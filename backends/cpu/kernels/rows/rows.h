#pragma once

#include <cstdint>

#include "core/isa.h"
#include "core/worker.h"

namespace sluice::cpu {

enum class NormKind : std::uint8_t { kLayer, kRms };

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over each row of a dense [rows][cols]
/// matrix; kRms leaves the mean out.
struct NormPlan {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float epsilon = 1e-5f;
  NormKind kind = NormKind::kLayer;
};

/// Statistics that some callers want, [rows] each; null where nobody does.
struct NormStatistics {
  float* mean = nullptr;
  float* inverse_deviation = nullptr;
};

/// `scale` and `bias` hold `cols` floats, `bias` may be null. `y` may be `x`.
SLUICE_CPU_EACH_ISA(void run_norm(const NormPlan& plan, const float* x, const float* scale,
                                  const float* bias, float* y, const NormStatistics& statistics,
                                  const Worker& worker);)

/// Softmax, or its logarithm, over the middle axis of a dense [outer][axis][inner] tensor.
struct SoftmaxPlan {
  std::int64_t outer = 0;
  std::int64_t axis = 0;
  std::int64_t inner = 1;
  bool is_log = false;
};

/// `y` may be `x`.
SLUICE_CPU_EACH_ISA(void run_softmax(const SoftmaxPlan& plan, const float* x, float* y,
                                     const Worker& worker);)

}  // namespace sluice::cpu
