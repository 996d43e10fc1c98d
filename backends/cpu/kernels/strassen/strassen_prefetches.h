#pragma once

// Software prefetch for Strassen's method. Between two uses of a block more data passes than a
// core's caches hold, so tiles prefetch what the next ones need. Included by kernel sources only.

#include "kernels/strassen/strassen_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// A queue of memory regions to prefetch. `forget` drops the regions that were not taken in time.
class StrassenPrefetches {
 public:
  void forget() { count_ = at_ = done_ = 0; }

  /// Adds `rows` rows of `floats` floats, `row` floats apart. Requires: fewer than kMaxRegions
  /// regions since `forget`.
  void add(const float* from, std::int64_t rows, std::int64_t floats, std::int64_t row) {
    if (rows <= 0) return;
    constexpr std::int64_t kFloats = kCacheLine / 4;
    const std::int64_t lines = (floats + kFloats - 1) / kFloats;
    regions_[count_++] = {reinterpret_cast<const char*>(from), rows * lines, lines, row * 4};
  }

  /// Takes the next `lines` cache lines. If no region is left, the result repeats the line at
  /// `nothing`. The result may run past the end of a region: a prefetch of any address is harmless.
  StrassenPrefetch take(std::int64_t lines, const void* nothing) {
    if (at_ == count_) return {static_cast<const char*>(nothing), 1, 1, -kCacheLine};
    const Region& region = regions_[at_];
    const std::int64_t row = done_ / region.row_lines;
    const std::int64_t column = done_ % region.row_lines;
    done_ += lines;
    if (done_ >= region.lines) {
      done_ = 0;
      ++at_;
    }
    return {region.from + row * region.row + column * kCacheLine, region.row_lines - column,
            region.row_lines, region.row - region.row_lines * kCacheLine};
  }

 private:
  static constexpr int kMaxRegions = 5;
  struct Region {
    const char* from;
    std::int64_t lines;
    std::int64_t row_lines;
    std::int64_t row;  ///< bytes
  };
  Region regions_[kMaxRegions];
  int count_ = 0;
  int at_ = 0;
  std::int64_t done_ = 0;
};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
