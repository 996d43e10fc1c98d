#include "kernels/sequence/rotary.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

void rotate_row(const float* x, const float* cosines, const float* sines, std::int64_t half,
                bool interleaved, float* y) {
  if (interleaved) {
    for (std::int64_t k = 0; k < half; ++k) {
      const float a = x[2 * k];
      const float b = x[2 * k + 1];
      y[2 * k] = cosines[k] * a - sines[k] * b;
      y[2 * k + 1] = sines[k] * a + cosines[k] * b;
    }
    return;
  }
  for (std::int64_t k = 0; k < half; k += kLanes) {
    const std::int64_t left = half - k;
    const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
    const Vec a = load_first(x + k, lanes);
    const Vec b = load_first(x + half + k, lanes);
    const Vec cosine = load_first(cosines + k, lanes);
    const Vec sine = load_first(sines + k, lanes);
    store_first(y + k, fnmadd(sine, b, cosine * a), lanes);
    store_first(y + half + k, fmadd(sine, a, cosine * b), lanes);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
