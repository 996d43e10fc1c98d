#pragma once

// What is brought near while tiles of Strassen's method are computed: the caches of a core are too
// small for everything that passes through them between two uses. Included by kernel sources only.

#include "kernels/strassen_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Regions of memory, one after the other. What is not taken in time stays where it is.
class StrassenErrands {
 public:
  void forget() { count_ = at_ = done_ = 0; }

  /// `rows` rows of `floats` floats, `row` floats apart. At most kMost, then forget().
  void add(const float* from, std::int64_t rows, std::int64_t floats, std::int64_t row) {
    if (rows <= 0) return;
    constexpr std::int64_t kFloats = kCacheLine / 4;
    const std::int64_t lines = (floats + kFloats - 1) / kFloats;
    regions_[count_++] = {reinterpret_cast<const char*>(from), rows * lines, lines, row * 4};
  }

  /// The next `lines` of them; where none is left, `nothing` over and over. Runs on beyond the end
  /// of a region.
  StrassenErrand take(std::int64_t lines, const void* nothing) {
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
  static constexpr int kMost = 5;
  struct Region {
    const char* from;
    std::int64_t lines;
    std::int64_t row_lines;
    std::int64_t row;  ///< bytes
  };
  Region regions_[kMost];
  int count_ = 0;
  int at_ = 0;
  std::int64_t done_ = 0;
};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
