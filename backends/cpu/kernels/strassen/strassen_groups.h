#pragma once

// How columns are cut for Strassen's method. Included by kernel sources only.

#include "kernels/matrix/gemm_pack.h"
#include "kernels/strassen/strassen.h"
#include "kernels/strassen/strassen_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Divides the columns into groups. A group holds one panel of each block of columns, so its result
/// is a strip of C. Panels are as equal as whole vectors allow. The number of groups is even, so
/// that two workers divide them equally.
struct StrassenGroups {
  std::int64_t blocks;   ///< in a group
  std::int64_t vectors;  ///< of a panel of every group, together
  std::int64_t count;

  std::int64_t first_vector(std::int64_t group) const { return vectors * group / count; }
  int panel_vectors(std::int64_t group) const {
    return static_cast<int>(first_vector(group + 1) - first_vector(group));
  }
  std::int64_t first_column(std::int64_t group) const {
    return first_vector(group) * kLanes * blocks;
  }
};

SLUICE_CPU_INLINE StrassenGroups strassen_groups(std::int64_t n, int levels) {
  const std::int64_t blocks = std::int64_t{1} << levels;
  const std::int64_t vectors = (n + blocks * kLanes - 1) / (blocks * kLanes);
  const std::int64_t pairs = (vectors + 2 * kStrassenVectors - 1) / (2 * kStrassenVectors);
  return {blocks, vectors, smaller(2 * pairs, vectors)};
}

SLUICE_CPU_INLINE int strassen_products(int levels) { return levels == 1 ? 7 : 49; }

SLUICE_CPU_INLINE std::int64_t strassen_block_depth(const StrassenCut& cut, std::int64_t k) {
  return (k / cut.stretches) >> cut.levels;
}

/// Floats before the panels of `group` in `stretch`.
SLUICE_CPU_INLINE std::int64_t strassen_panels_at(const StrassenCut& cut,
                                                  const StrassenGroups& groups, std::int64_t depth,
                                                  std::int64_t stretch, std::int64_t group) {
  return strassen_products(cut.levels) * depth * kLanes *
         (stretch * groups.vectors + groups.first_vector(group));
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
