#include "bench/fma_peak.h"

#include <time.h>

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

// A multiply-add takes four or five cycles, and two start per cycle: at least ten must be on their
// way.
constexpr int kChains = 12;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double timed_chains(int steps) {
  Vec sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = broadcast(1e-3f);
  const Vec a = broadcast(0.999f);
  const Vec b = broadcast(1e-4f);
  const double begin = now();
  for (int s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    // Sums stay near 0.1, so no step meets denormals or infinities.
    for (int i = 0; i < kChains; ++i) sums[i] = fmadd(sums[i], a, b);
  }
  for (int i = 0; i < kChains; ++i) asm volatile("" : "+x"(sums[i]));
  return now() - begin;
}

}  // namespace

double fma_flops_per_second() {
  constexpr int kSteps = 1 << 20;
  double best = timed_chains(kSteps);
  for (int i = 0; i < 4; ++i) {
    const double seconds = timed_chains(kSteps);
    best = seconds < best ? seconds : best;
  }
  return 2.0 * kLanes * kChains * kSteps / best;
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
