#include "kernels/strassen/strassen_groups.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// A stretch of B as the caller has it.
struct Source {
  const float* b;
  std::int64_t step;
  std::int64_t column;
  std::int64_t n;
  double scale;
};

/// All panels of the group whose first column is `first`; zeros beyond the last column of B.
void pack_group(const Source& source, int levels, std::int64_t depth, std::int64_t first,
                std::int64_t width, float* to) {
  for (int r = 0; r < strassen_products(levels); ++r) {
    const StrassenSum sum = strassen_sum_of_b(levels, r);
    for (std::int64_t p = 0; p < depth; ++p) {
      for (std::int64_t j = 0; j < width; ++j) {
        double total = 0;
        for (int t = 0; t < sum.count; ++t) {
          const StrassenTerm& term = sum.terms[t];
          const std::int64_t row = term.row * depth + p;
          const std::int64_t column = first + term.column * width + j;
          if (column >= source.n) continue;
          total +=
              term.sign * static_cast<double>(source.b[row * source.step + column * source.column]);
        }
        *to++ = static_cast<float>(total * source.scale);
      }
    }
  }
}

}  // namespace

std::int64_t packed_strassen_b_floats(const StrassenCut& cut, std::int64_t k, std::int64_t n) {
  const StrassenGroups groups = strassen_groups(n, cut.levels);
  return strassen_panels_at(cut, groups, strassen_block_depth(cut, k), cut.stretches, 0);
}

void pack_strassen_b(const StrassenCut& cut, const float* b, std::int64_t step, std::int64_t column,
                     std::int64_t k, std::int64_t n, float scale, float* packed) {
  const StrassenGroups groups = strassen_groups(n, cut.levels);
  const std::int64_t depth = strassen_block_depth(cut, k);
  for (std::int64_t s = 0; s < cut.stretches; ++s) {
    const Source source{b + s * (depth << cut.levels) * step, step, column, n,
                        static_cast<double>(scale)};
    for (std::int64_t g = 0; g < groups.count; ++g) {
      float* to = packed + strassen_panels_at(cut, groups, depth, s, g);
      const std::int64_t width = std::int64_t{groups.panel_vectors(g)} * kLanes;
      pack_group(source, cut.levels, depth, groups.first_column(g), width, to);
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
