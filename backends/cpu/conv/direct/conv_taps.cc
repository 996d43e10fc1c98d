#include "conv/direct/conv_taps.h"

#include <algorithm>

namespace sluice::cpu {
namespace {

constexpr double kMostKept = 0.8;

struct Axis {
  std::int64_t input, output, kernel, stride, dilation, pad;
};

/// Where tap k of an output reads: position * stride + k * dilation - pad.
TapRange seen(const Axis& axis, std::int64_t position) {
  const std::int64_t first = position * axis.stride - axis.pad;
  TapRange range = {axis.kernel, 0};
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t at = first + k * axis.dilation;
    if (at < 0 || at >= axis.input) continue;
    range.begin = std::min(range.begin, k);
    range.end = k + 1;
  }
  return range.end > range.begin ? range : TapRange{0, 1};
}

Axis rows_of(const ConvShape& s) {
  return {s.input.h, s.output().h, s.kernel.h, s.stride.h, s.dilation.h, s.pad_begin.h};
}

Axis columns_of(const ConvShape& s) {
  return {s.input.w, s.output().w, s.kernel.w, s.stride.w, s.dilation.w, s.pad_begin.w};
}

std::vector<TapColumns> group_columns(const Axis& axis) {
  std::vector<TapColumns> groups;
  for (std::int64_t c = 0; c < axis.output; ++c) {
    const TapRange range = seen(axis, c);
    const bool joins = !groups.empty() && groups.back().first == range.begin &&
                       groups.back().count == range.count();
    if (!joins) groups.push_back({c, c, range.begin, range.count()});
    groups.back().end = c + 1;
  }
  return groups;
}

}  // namespace

TapRange tap_rows(const ConvShape& shape, std::int64_t row) { return seen(rows_of(shape), row); }

ConvTapSkips find_tap_skips(const ConvShape& shape) {
  const std::int64_t channels = shape.in_channels / shape.groups;
  const bool is_dilated = shape.dilation.h > 1 || shape.dilation.w > 1;
  if (!is_dilated || shape.in_layout != Layout::kBlocked || channels % kBlock != 0) return {};
  ConvTapSkips skips;
  skips.columns = group_columns(columns_of(shape));
  const Extent output = shape.output();
  std::int64_t per_row = 0;
  for (const TapColumns& group : skips.columns) per_row += (group.end - group.begin) * group.count;
  std::int64_t kept = 0;
  for (std::int64_t r = 0; r < output.h; ++r) {
    const std::int64_t rows = tap_rows(shape, r).count();
    kept += rows == 1 ? per_row : rows * shape.kernel.w * output.w;
  }
  const std::int64_t all = output.h * output.w * shape.kernel.h * shape.kernel.w;
  skips.pays = static_cast<double>(kept) < kMostKept * static_cast<double>(all);
  return skips;
}

}  // namespace sluice::cpu
