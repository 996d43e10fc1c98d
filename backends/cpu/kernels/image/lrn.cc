#include "kernels/image/lrn.h"

#include "core/simd.h"
#include "kernels/conv/conv_tile.h"

extern "C" {
float powf(float, float);
}

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// x^-beta for positive x.
SLUICE_CPU_INLINE Vec inverse_power(Vec x, float beta) {
  const Vec one = broadcast(1.0F);
  if (beta == 0.75F) return one / (sqrt(x) * sqrt(sqrt(x)));
  if (beta == 0.5F) return one / sqrt(x);
  if (beta == 1.0F) return one / x;
  Vec y;
  for (int i = 0; i < kLanes; ++i) y[i] = powf(x[i], -beta);
  return y;
}

/// The channels [c, c + kLanes) of a pixel.
SLUICE_CPU_INLINE std::int64_t offset_of(const LrnPlan& plan, std::int64_t c) {
  return c / kBlock * plan.block + c % kBlock;
}

/// Squares of all channels; squares of padded channels are zero.
SLUICE_CPU_INLINE void put_squares(const LrnPlan& plan, const float* pixel, float* squares) {
  for (std::int64_t c = 0; c < plan.channels; c += kLanes) {
    const std::int64_t left = plan.channels - c;
    const float* at = pixel + offset_of(plan, c);
    const Vec x = left >= kLanes ? load(at) : load_first(at, static_cast<int>(left));
    store(squares + c, x * x);
  }
}

SLUICE_CPU_INLINE Vec window_sum(const LrnPlan& plan, const float* first) {
  Vec sum{};
  for (std::int64_t k = 0; k < plan.size; ++k) sum += load(first + k);
  return sum;
}

}  // namespace

void lrn_pixels(const LrnPlan& plan, const float* input, std::int64_t pixels, float* output,
                float* scratch) {
  const std::int64_t before = (plan.size - 1) / 2;
  for (std::int64_t i = 0; i < plan.pixel_scratch(); ++i) scratch[i] = 0;
  const Vec scale = broadcast(plan.alpha / static_cast<float>(plan.size));
  for (std::int64_t p = 0; p < pixels; ++p) {
    put_squares(plan, input + p * kBlock, scratch + before);
    for (std::int64_t c = 0; c < plan.channels; c += kLanes) {
      const std::int64_t at = p * kBlock + offset_of(plan, c);
      const Vec norm = fmadd(scale, window_sum(plan, scratch + c), broadcast(plan.bias));
      store(output + at, load(input + at) * inverse_power(norm, plan.beta));
    }
  }
}

void lrn_planes(const LrnPlan& plan, const float* input, std::int64_t pixels, float* output,
                float* scratch) {
  const std::int64_t before = (plan.size - 1) / 2;
  for (std::int64_t i = 0; i < plan.plane_scratch(); ++i) scratch[i] = 0;
  const Vec scale = broadcast(plan.alpha / static_cast<float>(plan.size));
  for (std::int64_t p = 0; p < pixels; p += kLanes) {
    const int lanes = static_cast<int>(pixels - p < kLanes ? pixels - p : kLanes);
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const Vec x = load_first(input + c * plan.block + p, lanes);
      store(scratch + (before + c) * kLanes, x * x);
    }
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      Vec sum{};
      for (std::int64_t k = 0; k < plan.size; ++k) sum += load(scratch + (c + k) * kLanes);
      const std::int64_t at = c * plan.block + p;
      const Vec norm = fmadd(scale, sum, broadcast(plan.bias));
      const Vec y = load_first(input + at, lanes) * inverse_power(norm, plan.beta);
      store_first(output + at, y, lanes);
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
