#include "conv/direct/conv_taps.h"

#include <algorithm>

namespace sluice::cpu {
namespace {

constexpr double kMostKept = 0.8;

/// A tile of fewer pixels takes as long: each multiply-add waits for the one before.
constexpr std::int64_t kLeastPixels = 4;

struct Axis {
  std::int64_t input, output, kernel, stride, dilation, pad;
};

/// Where tap k of an output reads: position * stride + k * dilation - pad. Empty if none does.
TapRange seen(const Axis& axis, std::int64_t position) {
  const std::int64_t first = position * axis.stride - axis.pad;
  TapRange range = {axis.kernel, 0};
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t at = first + k * axis.dilation;
    if (at < 0 || at >= axis.input) continue;
    range.begin = std::min(range.begin, k);
    range.end = k + 1;
  }
  return range;
}

Axis rows_of(const ConvShape& s) {
  return {s.input.h, s.output().h, s.kernel.h, s.stride.h, s.dilation.h, s.pad_begin.h};
}

Axis columns_of(const ConvShape& s) {
  return {s.input.w, s.output().w, s.kernel.w, s.stride.w, s.dilation.w, s.pad_begin.w};
}

std::vector<TapGroup> group(const Axis& axis) {
  std::vector<TapGroup> groups;
  for (std::int64_t at = 0; at < axis.output; ++at) {
    const TapRange range = seen(axis, at);
    const bool joins = !groups.empty() && groups.back().taps.begin == range.begin &&
                       groups.back().taps.end == range.end;
    if (!joins) groups.push_back({at, at, range});
    groups.back().end = at + 1;
  }
  return groups;
}

bool is_seen(const TapGroup& group) { return group.taps.count() > 0; }

}  // namespace

ConvTapSkips find_tap_skips(const ConvShape& shape) {
  const std::int64_t channels = shape.in_channels / shape.groups;
  const bool is_dilated = shape.dilation.h > 1 || shape.dilation.w > 1;
  if (!is_dilated || shape.in_layout != Layout::kBlocked || channels % kBlock != 0 ||
      shape.stride.w != 1) {
    return {};
  }
  ConvTapSkips skips = {false, group(rows_of(shape)), group(columns_of(shape))};
  if (!std::ranges::all_of(skips.rows, is_seen) || !std::ranges::all_of(skips.columns, is_seen)) {
    return {};
  }
  std::int64_t per_row = 0;
  for (const TapGroup& columns : skips.columns) {
    per_row += std::max(columns.end - columns.begin, kLeastPixels) * columns.taps.count();
  }
  std::int64_t kept = 0;
  for (const TapGroup& rows : skips.rows) {
    kept += (rows.end - rows.begin) * rows.taps.count() * per_row;
  }
  const Extent output = shape.output();
  const std::int64_t all = output.h * output.w * shape.kernel.h * shape.kernel.w;
  skips.pays = static_cast<double>(kept) < kMostKept * static_cast<double>(all);
  return skips;
}

}  // namespace sluice::cpu
