#pragma once

#include <cstdint>

#include "isa.h"

namespace sluice::cpu {

/// Rows, or trees, that are walked side by side: their loads and compares overlap.
inline constexpr int kTreeLanes = 8;

/// A float as a number that orders as floats do, so that integer instructions compare it, whatever
/// the processor does with denormals: -0 is 0, NaN is above all.
inline constexpr std::int32_t kNanKey = 0x7FFFFFFF;
inline std::int32_t tree_key(float x) {
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return kNanKey;
  const auto key = static_cast<std::int32_t>(bits >> 31 != 0 ? bits ^ 0x7FFFFFFFU : bits);
  return key == -1 ? 0 : key;
}

/// Nodes of all trees, 8 bytes each. The low half holds the key of the split. The high half,
/// from its lowest bit: whether NaN goes left, whether the test is equality, the feature, and as a
/// signed number how far to the left child; the right one follows it. Left is where x <= split (or
/// x == split). A leaf is its own child: nothing is at most its split, its distance is -1.
///
/// feature_mask covers the feature where it stands, so that it gives 4 * feature: a distance in
/// bytes.
struct TreeNodes {
  const std::uint64_t* nodes = nullptr;
  std::uint32_t feature_mask = 0;
  std::uint32_t child_shift = 0;
  bool is_flagged = false;  ///< some node has one of the two flags
};

/// Walks one tree from its root for kTreeLanes rows and writes where each ends. `features` is
/// [columns][kTreeLanes] keys.
SLUICE_CPU_EACH_ISA(void walk_rows(const TreeNodes& nodes, std::uint32_t root, int depth,
                                   const std::int32_t* features, std::uint32_t* ends);)

/// Walks kTreeLanes trees, of at most that depth, for one row.
SLUICE_CPU_EACH_ISA(void walk_trees(const TreeNodes& nodes, const std::uint32_t* roots, int depth,
                                    const std::int32_t* row, std::uint32_t* ends);)

}  // namespace sluice::cpu
