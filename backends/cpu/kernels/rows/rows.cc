#include "kernels/rows/rows.h"

#include "kernels/rows/row_folds.h"

extern "C" float logf(float);

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

SLUICE_CPU_INLINE Vec fetch(const float* p, int lanes) {
  return lanes == kLanes ? load(p) : load_first(p, lanes);
}

/// Where squares leave the range of floats: in double, for a row of huge or tiny numbers.
__attribute__((noinline, cold)) void norm_row_in_double(const NormPlan& plan, const float* x,
                                                        const float* scale, const float* bias,
                                                        float* y, float* mean_out,
                                                        float* inverse_out) {
  const double count = static_cast<double>(plan.cols);
  double mean = 0;
  double variance = 0;
  if (plan.kind == NormKind::kLayer) {
    for (std::int64_t c = 0; c < plan.cols; ++c) mean += static_cast<double>(x[c]) / count;
  }
  for (std::int64_t c = 0; c < plan.cols; ++c) {
    const double v = static_cast<double>(x[c]) - mean;
    variance += v * v / count;
  }
  const double inverse = 1.0 / __builtin_sqrt(variance + static_cast<double>(plan.epsilon));
  for (std::int64_t c = 0; c < plan.cols; ++c) {
    const double shift = bias == nullptr ? 0 : static_cast<double>(bias[c]);
    const double normal = (static_cast<double>(x[c]) - mean) * inverse;
    y[c] = static_cast<float>(normal * static_cast<double>(scale[c]) + shift);
  }
  if (mean_out != nullptr) *mean_out = static_cast<float>(mean);
  if (inverse_out != nullptr) *inverse_out = static_cast<float>(inverse);
}

/// Squares of differences from the mean, not the mean of squares less the square of the mean: the
/// latter cancels where the mean is large.
void norm_row(const NormPlan& plan, const float* x, const float* scale, const float* bias, float* y,
              float* mean_out, float* inverse_out) {
  const float count = static_cast<float>(plan.cols);
  float mean = 0;
  if (plan.kind == NormKind::kLayer) {
    mean = reduce_add(fold_row(
               x, plan.cols, 0, [](Vec v) { return v; }, add)) /
           count;
  }
  const Vec center = broadcast(mean);
  const auto square = [=](Vec v) { return (v - center) * (v - center); };
  const float variance = reduce_add(fold_row(x, plan.cols, 0, square, add)) / count;
  if (leaves_range(variance, plan.epsilon)) {
    return norm_row_in_double(plan, x, scale, bias, y, mean_out, inverse_out);
  }
  const float inverse = 1.0f / __builtin_sqrtf(variance + plan.epsilon);
  const Vec factor = broadcast(inverse);
  map_row(x, y, plan.cols, [=](Vec v, std::int64_t c, int lanes) {
    const Vec normal = (v - center) * factor;
    const Vec shift = bias == nullptr ? Vec{} : fetch(bias + c, lanes);
    return fmadd(normal, fetch(scale + c, lanes), shift);
  });
  if (mean_out != nullptr) *mean_out = mean;
  if (inverse_out != nullptr) *inverse_out = inverse;
}

/// y = exp(x - top), whose sum is returned. Several vectors at a time hide the function's latency.
SLUICE_CPU_INLINE float exponentiate_row(const float* x, float* y, std::int64_t cols, Vec top) {
  Vec sums[kFoldChains] = {};
  std::int64_t c = 0;
  for (; c + kFoldChains * kLanes <= cols; c += kFoldChains * kLanes) {
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kFoldChains; ++i) {
      const Vec power = exp_of_negative(load(x + c + i * kLanes) - top);
      store(y + c + i * kLanes, power);
      sums[i] += power;
    }
  }
  for (; c < cols; c += kLanes) {
    const int lanes = static_cast<int>(cols - c < kLanes ? cols - c : kLanes);
    const Vec power = fill_behind(exp_of_negative(load_first(x + c, lanes) - top), lanes, 0);
    store_first(y + c, power, lanes);
    sums[0] += power;
  }
  return reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// Differences from the largest number keep `exp` from overflowing, and change nothing otherwise.
void softmax_row(const float* x, float* y, std::int64_t cols, bool is_log) {
  const float lowest = -__builtin_inff();
  const Vec top = broadcast(reduce_max(fold_row(
      x, cols, lowest, [](Vec v) { return v; }, [](Vec a, Vec b) { return max(a, b); })));
  if (is_log) {
    const auto power = [=](Vec v) { return exp_of_negative(v - top); };
    // Two differences: the sum of a large `top` and the logarithm would round the latter away.
    const Vec log = broadcast(logf(reduce_add(fold_row(x, cols, 0, power, add))));
    map_row(x, y, cols, [=](Vec v, std::int64_t, int) { return v - top - log; });
    return;
  }
  const Vec factor = broadcast(1.0f / exponentiate_row(x, y, cols, top));
  map_row(y, y, cols, [=](Vec v, std::int64_t, int) { return v * factor; });
}

/// Softmax down rows that are `inner` apart, for up to kLanes neighbouring columns.
/// The largest, the sum and the quotient are those of each lane.
void softmax_columns(const SoftmaxPlan& plan, const float* x, float* y, int lanes) {
  const std::int64_t axis = plan.axis;
  const std::int64_t inner = plan.inner;
  Vec top = load_first(x, lanes);
  for (std::int64_t r = 1; r < axis; ++r) top = max(top, load_first(x + r * inner, lanes));
  Vec sum{};
  for (std::int64_t r = 0; r < axis; ++r) {
    const Vec e = exp_of_negative(load_first(x + r * inner, lanes) - top);
    sum += e;
    // A logarithm is computed from `x` in a second pass. `y` may be `x`, so nothing is stored yet.
    if (!plan.is_log) store_first(y + r * inner, e, lanes);
  }
  if (plan.is_log) {
    Vec log{};
    for (int i = 0; i < lanes; ++i) log[i] = logf(sum[i]);
    for (std::int64_t r = 0; r < axis; ++r) {
      store_first(y + r * inner, load_first(x + r * inner, lanes) - top - log, lanes);
    }
    return;
  }
  const Vec factor = broadcast(1.0f) / sum;
  for (std::int64_t r = 0; r < axis; ++r) {
    store_first(y + r * inner, load_first(y + r * inner, lanes) * factor, lanes);
  }
}

}  // namespace

void run_norm(const NormPlan& plan, const float* x, const float* scale, const float* bias, float* y,
              const NormStatistics& statistics, const Worker& worker) {
  const Share share = share_of(plan.rows, 1, worker);
  for (std::int64_t r = share.begin; r < share.end; ++r) {
    norm_row(plan, x + r * plan.cols, scale, bias, y + r * plan.cols,
             statistics.mean == nullptr ? nullptr : statistics.mean + r,
             statistics.inverse_deviation == nullptr ? nullptr : statistics.inverse_deviation + r);
  }
}

void run_softmax(const SoftmaxPlan& plan, const float* x, float* y, const Worker& worker) {
  if (plan.inner == 1) {
    const Share share = share_of(plan.outer, 1, worker);
    for (std::int64_t r = share.begin; r < share.end; ++r) {
      softmax_row(x + r * plan.axis, y + r * plan.axis, plan.axis, plan.is_log);
    }
    return;
  }
  const std::int64_t strips = (plan.inner + kLanes - 1) / kLanes;
  const Share share = share_of(plan.outer * strips, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    const std::int64_t column = i % strips * kLanes;
    const std::int64_t at = i / strips * plan.axis * plan.inner + column;
    const std::int64_t left = plan.inner - column;
    softmax_columns(plan, x + at, y + at, static_cast<int>(left < kLanes ? left : kLanes));
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
