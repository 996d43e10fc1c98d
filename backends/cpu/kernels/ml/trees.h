#pragma once

#include <cstdint>

#include "core/isa.h"

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

/// Places among the splits of a feature, which order as its f64 values do: twice the number of
/// splits below the value, and 1 more if the value equals one; NaN is kNanKey.
/// Reads values[i * pitch] and writes keys[i * step] for i below `count`. `splits` ascend, and none
/// is NaN or there twice.
SLUICE_CPU_EACH_ISA(void split_keys(const double* splits, std::int64_t num_splits,
                                    const double* values, std::int64_t pitch, std::int64_t count,
                                    std::int32_t* keys, std::int64_t step);)

/// Nodes of all trees, 8 bytes each. The low half holds the key of the split. The high half holds,
/// from its lowest bit: whether NaN goes left, whether the test is equality, the feature, and the
/// signed distance to the left child. The right child follows the left one. Left is where x <=
/// split (or x == split). A leaf is its own child: no value is at most its split, and its distance
/// is -1.
///
/// feature_mask selects the feature bits without a shift, which gives 4 * feature, an offset in
/// bytes.
struct TreeNodes {
  const std::uint64_t* nodes = nullptr;
  std::uint32_t feature_mask = 0;
  std::uint32_t child_shift = 0;
  bool is_flagged = false;  ///< a node has one of the two flags
};

/// Walks one tree from its root for kTreeLanes rows and writes where each ends. `features` is
/// [columns][kTreeLanes] keys.
SLUICE_CPU_EACH_ISA(void walk_rows(const TreeNodes& nodes, std::uint32_t root, int depth,
                                   const std::int32_t* features, std::uint32_t* ends);)

/// Walks kTreeLanes trees, of at most that depth, for one row.
SLUICE_CPU_EACH_ISA(void walk_trees(const TreeNodes& nodes, const std::uint32_t* roots, int depth,
                                    const std::int32_t* row, std::uint32_t* ends);)

}  // namespace sluice::cpu
