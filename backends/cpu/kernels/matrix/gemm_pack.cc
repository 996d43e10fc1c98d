#include "kernels/matrix/gemm_pack.h"

#include "kernels/matrix/gemm.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

std::int64_t packed_gemm_b_floats(std::int64_t k, std::int64_t n) {
  const std::int64_t whole = n / kPanelWidth * kPanelWidth;
  return k * (whole + panel_row(n - whole));
}

void pack_gemm_b(const float* b, std::int64_t step, std::int64_t column, std::int64_t k,
                 std::int64_t n, float scale, float* packed) {
  for (std::int64_t panel = 0; panel < panel_count(n); ++panel) {
    const std::int64_t columns = panel_columns(n, panel);
    const float* from = b + panel * kPanelWidth * column;
    float* to = packed + panel * kPanelWidth * k;
    if (column == 1) {
      pack_rows(from, step, k, columns, scale, to);
    } else if (step == 1) {
      pack_columns(from, column, k, columns, scale, to);
      // Neither the rows nor the columns of B are contiguous.
    } else {
      const std::int64_t row = panel_row(columns);
      for (std::int64_t p = 0; p < k; ++p) {
        for (std::int64_t j = 0; j < row; ++j) {
          to[p * row + j] = j < columns ? from[p * step + j * column] * scale : 0;
        }
      }
    }
  }
}

/// Two vectors of a row become one of pairs, so that one load brings both: a shift gives the floats
/// of the even numbers, a mask those of the odd ones.
void pair_gemm_b(std::int64_t k, std::int64_t n, std::uint16_t* packed) {
  constexpr std::int64_t kPair = 2 * kLanes;
  for (std::int64_t panel = 0; panel < panel_count(n); ++panel) {
    const std::int64_t row = panel_row(panel_columns(n, panel));
    for (std::int64_t p = 0; p < k; ++p, packed += row) {
      for (std::int64_t at = 0; at + kPair <= row; at += kPair) {
        std::uint16_t pair[kPair];
        for (int i = 0; i < kLanes; ++i) {
          pair[2 * i] = packed[at + i];
          pair[2 * i + 1] = packed[at + kLanes + i];
        }
        __builtin_memcpy(packed + at, pair, sizeof pair);
      }
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
