#include "kernels/ml/trees.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// A step down one level. `x_scale` and `lane` say where the lane's features stand.
template <bool is_flagged, int x_scale>
SLUICE_CPU_INLINE std::int64_t step(const TreeNodes& nodes, std::int64_t at, const char* features) {
  const std::uint64_t node = nodes.nodes[at];
  const auto link = static_cast<std::uint32_t>(node >> 32);
  std::int32_t x;
  __builtin_memcpy(&x, features + std::uint64_t{link & nodes.feature_mask} * x_scale, sizeof x);
  const auto split = static_cast<std::int32_t>(static_cast<std::uint32_t>(node));
  bool goes_right = x > split;
  if constexpr (is_flagged) {
    const bool differs = x != split;
    goes_right = (link & 2U) != 0 ? differs : goes_right;
    goes_right = goes_right && !((link & 1U) != 0 && x == kNanKey);
  }
  return at + (static_cast<std::int32_t>(link) >> nodes.child_shift) + (goes_right ? 1 : 0);
}

/// Number of levels between checks whether all lanes have reached a leaf.
constexpr int kLevelsAtOnce = 4;

template <bool is_flagged, int x_scale, int lane_bytes>
SLUICE_CPU_INLINE void walk(const TreeNodes& nodes, const std::uint32_t* roots, int depth,
                            const std::int32_t* features, std::uint32_t* ends) {
  std::int64_t at[kTreeLanes];
  SLUICE_CPU_UNROLL
  for (int lane = 0; lane < kTreeLanes; ++lane) at[lane] = roots[lane];
  const char* bytes = reinterpret_cast<const char*>(features);
  for (int level = 0; level < depth;) {
    std::int64_t moved = 0;
    const int stop = level + kLevelsAtOnce < depth ? level + kLevelsAtOnce : depth;
    for (; level < stop; ++level) {
      moved = 0;
      SLUICE_CPU_UNROLL
      for (int lane = 0; lane < kTreeLanes; ++lane) {
        const std::int64_t next =
            step<is_flagged, x_scale>(nodes, at[lane], bytes + lane * lane_bytes);
        moved |= next ^ at[lane];
        at[lane] = next;
      }
    }
    if (moved == 0) break;
  }
  SLUICE_CPU_UNROLL
  for (int lane = 0; lane < kTreeLanes; ++lane) ends[lane] = static_cast<std::uint32_t>(at[lane]);
}

/// Halves the splits for all lanes at once and without a branch: which half a value takes, no
/// processor foresees.
template <int lanes>
SLUICE_CPU_INLINE void find_keys(const double* splits, std::int64_t num_splits, const double* x,
                                 std::int32_t* keys) {
  std::int64_t below[lanes] = {};
  for (std::int64_t left = num_splits; left > 0;) {
    const std::int64_t half = (left + 1) / 2;
    SLUICE_CPU_UNROLL
    for (int lane = 0; lane < lanes; ++lane) {
      const bool is_below = splits[below[lane] + half - 1] < x[lane];
      below[lane] += half & -static_cast<std::int64_t>(is_below);
    }
    left -= half;
  }
  SLUICE_CPU_UNROLL
  for (int lane = 0; lane < lanes; ++lane) {
    const bool is_split = below[lane] < num_splits && splits[below[lane]] == x[lane];
    const auto key = static_cast<std::int32_t>(2 * below[lane] + (is_split ? 1 : 0));
    keys[lane] = x[lane] == x[lane] ? key : kNanKey;
  }
}

/// As split_keys for at most `lanes` values.
template <int lanes>
SLUICE_CPU_INLINE void few_keys(const double* splits, std::int64_t num_splits, const double* values,
                                std::int64_t pitch, std::int64_t count, std::int32_t* keys,
                                std::int64_t step) {
  double x[lanes] = {};
  std::int32_t found[lanes];
  for (std::int64_t i = 0; i < count; ++i) x[i] = values[i * pitch];
  find_keys<lanes>(splits, num_splits, x, found);
  for (std::int64_t i = 0; i < count; ++i) keys[i * step] = found[i];
}

}  // namespace

void split_keys(const double* splits, std::int64_t num_splits, const double* values,
                std::int64_t pitch, std::int64_t count, std::int32_t* keys, std::int64_t step) {
  for (std::int64_t first = 0; first < count; first += kTreeLanes) {
    const std::int64_t there = count - first < kTreeLanes ? count - first : kTreeLanes;
    const double* from = values + first * pitch;
    std::int32_t* to = keys + first * step;
    // A lane without a value takes as long as one with.
    if (there > 4) {
      few_keys<kTreeLanes>(splits, num_splits, from, pitch, there, to, step);
    } else if (there > 2) {
      few_keys<4>(splits, num_splits, from, pitch, there, to, step);
    } else if (there > 1) {
      few_keys<2>(splits, num_splits, from, pitch, there, to, step);
    } else {
      few_keys<1>(splits, num_splits, from, pitch, there, to, step);
    }
  }
}

void walk_rows(const TreeNodes& nodes, std::uint32_t root, int depth, const std::int32_t* features,
               std::uint32_t* ends) {
  std::uint32_t roots[kTreeLanes];
  for (int lane = 0; lane < kTreeLanes; ++lane) roots[lane] = root;
  if (nodes.is_flagged) {
    walk<true, kTreeLanes, sizeof(float)>(nodes, roots, depth, features, ends);
  } else {
    walk<false, kTreeLanes, sizeof(float)>(nodes, roots, depth, features, ends);
  }
}

void walk_trees(const TreeNodes& nodes, const std::uint32_t* roots, int depth,
                const std::int32_t* row, std::uint32_t* ends) {
  if (nodes.is_flagged) {
    walk<true, 1, 0>(nodes, roots, depth, row, ends);
  } else {
    walk<false, 1, 0>(nodes, roots, depth, row, ends);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
