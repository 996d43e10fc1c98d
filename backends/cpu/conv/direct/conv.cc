#include "conv/direct/conv.h"

#include <algorithm>

#include "conv/direct/conv_band.h"
#include "core/divide.h"

namespace sluice::cpu {
namespace {

/// Cost of the busiest worker in floats moved. kSumsPerFloatMoved converts multiply-adds to floats.
double cost_of(const ConvPlan& plan, ConvGrid grid) {
  const auto share = [](std::int64_t items, int among) {
    return static_cast<double>(divide_up(items, among)) / static_cast<double>(items);
  };
  const ConvShape& s = plan.shape;
  const double rows = share(s.batch * plan.output.h, grid.over_rows);
  const double panels =
      share(static_cast<std::int64_t>(plan.packing.panels().size()), grid.over_panels);
  const double weights = static_cast<double>(plan.packing.size());
  const double input = static_cast<double>(s.batch * s.in_channels * s.input.h * s.input.w);
  const double sums = weights * static_cast<double>(s.batch * plan.output.h * plan.output.w);
  constexpr double kSumsPerFloatMoved = 16;
  return sums * rows * panels / kSumsPerFloatMoved + weights * panels + input * rows;
}

}  // namespace

ConvGrid choose_grid(const ConvPlan& plan, int workers) {
  if (plan.division == Division::kChannels) return {1, workers};
  ConvGrid best = {workers, 1};
  if (plan.division == Division::kRows) return best;
  for (int over_rows = 1; over_rows < workers; ++over_rows) {
    if (workers % over_rows != 0) continue;
    const ConvGrid grid = {over_rows, workers / over_rows};
    if (cost_of(plan, grid) < cost_of(plan, best)) best = grid;
  }
  return best;
}

namespace {

BlockRange blocks_read(const ConvPlan& plan, const Share& panels) {
  const std::int64_t per_block = plan.channels_per_block();
  const ConvPanel& first = plan.packing.panels()[static_cast<std::size_t>(panels.begin)];
  const ConvPanel& last = plan.packing.panels()[static_cast<std::size_t>(panels.end - 1)];
  const std::int64_t begin = first.first_in / per_block;
  return {begin, divide_up(last.first_in + last.in_channels, per_block) - begin};
}

/// Address of the band's first pixel: in `strip`, which this function fills, or in the input
/// tensor.
const float* band_input(const ConvPlan& plan, const float* input, const Band& band,
                        const Share& panels, float* strip) {
  if (plan.strip.copied) {
    fill_strip(plan, input, band, blocks_read(plan, panels), strip);
    return strip;
  }
  const std::int64_t first_row = band.first * plan.shape.stride.h * plan.strip.row;
  return input + band.image * plan.input_blocks() * plan.strip.block + first_row;
}

}  // namespace

void run_conv(const ConvPlan& plan, const ConvArgs& args, const Worker& worker) {
  const ConvGrid grid = choose_grid(plan, worker.count);
  const Worker by_rows = {worker.index % grid.over_rows, grid.over_rows};
  const Worker by_panels = {worker.index / grid.over_rows, grid.over_panels};
  const auto panel_count = static_cast<std::int64_t>(plan.packing.panels().size());
  const Share panels = share_of(panel_count, 1, by_panels);
  const Share rows = share_of(plan.shape.batch * plan.output.h, 1, by_rows);
  if (panels.begin == panels.end) return;
  for (std::int64_t row = rows.begin; row < rows.end;) {
    Band band = {row / plan.output.h, row % plan.output.h};
    band.count = std::min({plan.band_rows, plan.output.h - band.first, rows.end - row});
    auto* strip = reinterpret_cast<float*>(worker.scratch);
    float* sums = strip + plan.strip_floats();
    const float* input = band_input(plan, args.input, band, panels, strip);
    float* weights = sums + plan.sums_floats();
    run_band(plan, args, band, panels, {input, sums, weights, weights + plan.widened_floats()});
    row += band.count;
  }
}

}  // namespace sluice::cpu
