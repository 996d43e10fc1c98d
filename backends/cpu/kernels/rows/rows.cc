#include "kernels/rows/rows.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr int kChains = 4;  ///< sums kept side by side, to hide the latency of one

/// Lanes of `v` from `count` on become `filler`.
SLUICE_CPU_INLINE Vec fill_behind(Vec v, int count, float filler) {
  VecI index;
  for (int i = 0; i < kLanes; ++i) index[i] = i;
  return select(index < broadcast_int(count), v, broadcast(filler));
}

/// Combines `map(vector)` over a row into one vector; `filler` is neutral after `map`.
template <typename Map, typename Combine>
SLUICE_CPU_INLINE Vec fold_row(const float* x, std::int64_t cols, float filler, Map map,
                               Combine combine) {
  Vec acc[kChains];
  for (Vec& a : acc) a = broadcast(filler);
  std::int64_t c = 0;
  for (; c + kChains * kLanes <= cols; c += kChains * kLanes) {
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kChains; ++i) acc[i] = combine(acc[i], map(load(x + c + i * kLanes)));
  }
  for (; c + kLanes <= cols; c += kLanes) acc[0] = combine(acc[0], map(load(x + c)));
  if (c < cols) {
    const int left = static_cast<int>(cols - c);
    acc[1] = combine(acc[1], fill_behind(map(load_first(x + c, left)), left, filler));
  }
  return combine(combine(acc[0], acc[1]), combine(acc[2], acc[3]));
}

/// y[c] = map(x[c], c, lanes), vector by vector.
template <typename Map>
SLUICE_CPU_INLINE void map_row(const float* x, float* y, std::int64_t cols, Map map) {
  std::int64_t c = 0;
  for (; c + kLanes <= cols; c += kLanes) store(y + c, map(load(x + c), c, kLanes));
  if (c < cols) {
    const int left = static_cast<int>(cols - c);
    store_first(y + c, map(load_first(x + c, left), c, left), left);
  }
}

SLUICE_CPU_INLINE Vec add(Vec a, Vec b) { return a + b; }

SLUICE_CPU_INLINE Vec fetch(const float* p, int lanes) {
  return lanes == kLanes ? load(p) : load_first(p, lanes);
}

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

void softmax_row(const float* x, float* y, std::int64_t cols) {
  const float lowest = -__builtin_inff();
  const Vec top = broadcast(reduce_max(fold_row(
      x, cols, lowest, [](Vec v) { return v; }, [](Vec a, Vec b) { return max(a, b); })));
  map_row(x, y, cols, [=](Vec v, std::int64_t, int) { return exp(v - top); });
  const float sum = reduce_add(fold_row(
      y, cols, 0, [](Vec v) { return v; }, add));
  const Vec factor = broadcast(1.0f / sum);
  map_row(y, y, cols, [=](Vec v, std::int64_t, int) { return v * factor; });
}

/// Softmax down `axis` rows that are `inner` apart, for up to kLanes neighbouring columns.
void softmax_columns(const float* x, float* y, std::int64_t axis, std::int64_t inner, int lanes) {
  Vec top = load_first(x, lanes);
  for (std::int64_t r = 1; r < axis; ++r) top = max(top, load_first(x + r * inner, lanes));
  Vec sum{};
  for (std::int64_t r = 0; r < axis; ++r) {
    const Vec e = exp(load_first(x + r * inner, lanes) - top);
    sum += e;
    store_first(y + r * inner, e, lanes);
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
      softmax_row(x + r * plan.axis, y + r * plan.axis, plan.axis);
    }
    return;
  }
  const std::int64_t strips = (plan.inner + kLanes - 1) / kLanes;
  const Share share = share_of(plan.outer * strips, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    const std::int64_t column = i % strips * kLanes;
    const std::int64_t at = i / strips * plan.axis * plan.inner + column;
    const std::int64_t left = plan.inner - column;
    softmax_columns(x + at, y + at, plan.axis, plan.inner,
                    static_cast<int>(left < kLanes ? left : kLanes));
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
