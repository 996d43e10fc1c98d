#pragma once

#include "conv/direct/conv_plan.h"

namespace sluice::cpu {

/// Taps [begin, end) along one axis.
struct TapRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count() const { return end - begin; }
};

/// The kernel rows at which output row `row` sees the image; one of them if none does.
TapRange tap_rows(const ConvShape& shape, std::int64_t row);

/// For blocks of 16 input channels, where the kernel rows of a pixel are a range of its taps: rows
/// of one kernel row skip columns of taps, too.
ConvTapSkips find_tap_skips(const ConvShape& shape);

}  // namespace sluice::cpu
