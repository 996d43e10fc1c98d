#pragma once

// How a GRU's or RNN's weights lie when packed, for its two kernel sources.

#include "core/simd.h"
#include "kernels/sequence/gru.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

inline constexpr std::int64_t kGruGates = 3;
/// Vectors of units that a tile computes side by side: enough sums for the multiply-adds of one
/// row.
inline constexpr int kPairUnits = 2;                                 ///< of update and reset
inline constexpr int kLinearUnits = kVectorRegisters == 32 ? 2 : 1;  ///< of all three gates
inline constexpr int kSingleUnits = 4;                               ///< of one gate

/// Hidden units with those that fill up the widest tile.
SLUICE_CPU_INLINE std::int64_t padded_units(const GruPlan& plan) {
  constexpr std::int64_t kWhole = kSingleUnits * kLanes;
  return (plan.hidden + kWhole - 1) / kWhole * kWhole;
}

/// Gates that one tile computes together. R is packed as one panel group after the other, each
/// [blocks of units][hidden][gates][units * kLanes].
struct GateGroup {
  std::int64_t first;
  std::int64_t gates;
  int units;
};

struct GateGroups {
  explicit GateGroups(const GruPlan& plan) {
    if (plan.gates == 1) {
      all[count++] = {0, 1, kSingleUnits};
    } else if (plan.is_linear_first) {
      all[count++] = {0, kGruGates, kLinearUnits};
    } else {
      all[count++] = {0, 2, kPairUnits};
      all[count++] = {2, 1, kSingleUnits};
    }
  }
  GateGroup all[2];
  int count = 0;
};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
