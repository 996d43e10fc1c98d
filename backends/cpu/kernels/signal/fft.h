#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

inline constexpr int kFftMaxStages = 40;
inline constexpr int kFftMaxRadix = 13;
inline constexpr int kFftMaxLanes = 8;

/// A transform of `length` points, as one stage per factor, in Stockham's order, which needs no
/// permutation. Numbers are doubles: errors of floats would remain where terms cancel. Made by
/// FftTables, which keeps the tables.
struct FftStages {
  std::int64_t length = 1;
  int count = 0;
  int radix[kFftMaxStages] = {};
  /// By stage, for those that have it: cos and sin of -2 pi q r / n for each q < n / radix and 1 <=
  /// r < radix.
  const double* twiddles[kFftMaxStages] = {};
  /// cos and sin of -2 pi j k / radix, for stages of a generic radix.
  const double* roots[kFftMaxStages] = {};
};

/// A transform of any length. Lengths with a prime factor above kFftMaxRadix are convolutions with
/// a chirp (Bluestein): `stages` then has a power of two of at least 2 * length - 1 points.
struct FftPlan {
  std::int64_t length = 1;
  FftStages stages;
  const double* chirp = nullptr;   ///< null: `stages` are the transform itself; else [length][2]
  const double* filter = nullptr;  ///< transform of the chirp's other factor, [stages.length][2]
};

/// As many lines as the instruction set has lanes are transformed side by side.
struct FftLines {
  int count = 0;
  const float* x[kFftMaxLanes] = {};
  float* y[kFftMaxLanes] = {};
  std::int64_t x_step = 1;  ///< floats from a point to the next
  std::int64_t y_step = 2;
  int x_parts = 1;  ///< 1: real; 2: real and imaginary
  int y_parts = 2;
  std::int64_t points = 0;        ///< of a line that are read; the others are zeros
  std::int64_t bins = 0;          ///< of a result that are written
  const float* window = nullptr;  ///< factor of each point; null for ones
  bool is_inverse = false;
  bool is_mirrored = false;  ///< x is the first half of a spectrum of real numbers
};

SLUICE_CPU_EACH_ISA(int fft_lanes();)

/// Scratch that a worker needs.
SLUICE_CPU_EACH_ISA(std::int64_t fft_scratch_bytes(const FftPlan& plan);)

/// Requires: lines.count <= fft_lanes().
SLUICE_CPU_EACH_ISA(void run_fft(const FftPlan& plan, const FftLines& lines, double* scratch);)

}  // namespace sluice::cpu
