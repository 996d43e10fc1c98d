#include "kernels/image/affine_row.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

void affine_row(const float* x, std::int64_t count, int rank, const float* slopes,
                const float* rests, float* output) {
  // After `rank` vectors the pattern of a vector comes again.
  Vec slope[kAffineRanks];
  Vec rest[kAffineRanks];
  for (int v = 0; v < rank; ++v) {
    for (int lane = 0; lane < kLanes; ++lane) {
      slope[v][lane] = slopes[(v * kLanes + lane) % rank];
      rest[v][lane] = rests[(v * kLanes + lane) % rank];
    }
  }
  int v = 0;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t left = count - i;
    if (left >= kLanes) {
      store(output + i, fmadd(slope[v], load(x + i), rest[v]));
    } else {
      const int lanes = static_cast<int>(left);
      store_first(output + i, fmadd(slope[v], load_first(x + i, lanes), rest[v]), lanes);
    }
    v = v + 1 == rank ? 0 : v + 1;
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
