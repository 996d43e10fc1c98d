#include "conv/conv.h"

#include <algorithm>

#include "conv/conv_strip.h"

namespace sluice::cpu {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// How the workers of a group share a convolution: `over_rows` groups of output rows by as many
/// groups of panels as make up the rest.
struct Grid {
  int over_rows = 1;
  int over_panels = 1;
};

/// Floats that the busiest worker moves plus, as heavily weighted as arithmetic is on one, the sums
/// that it computes.
double cost_of(const ConvPlan& plan, Grid grid) {
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

Grid choose_grid(const ConvPlan& plan, int workers) {
  Grid best = {workers, 1};
  for (int over_rows = 1; over_rows < workers; ++over_rows) {
    if (workers % over_rows != 0) continue;
    const Grid grid = {over_rows, workers / over_rows};
    if (cost_of(plan, grid) < cost_of(plan, best)) best = grid;
  }
  return best;
}

/// One band of one worker: everything that its tiles have in common.
class BandRun {
 public:
  BandRun(const ConvPlan& plan, const ConvArgs& args, const Band& band, const float* input)
      : plan_(plan), args_(args), band_(band), input_(input) {
    tile_.taps = plan.taps.data();
    tile_.tap_count = static_cast<std::int32_t>(plan.taps.size());
    tile_.block_stride = plan.strip.block;
    tile_.input_row = plan.strip.rows_per_output * plan.strip.row;
    tile_.output_row = plan.output.w * kBlock;
    tile_.output_block = plan.output.h * tile_.output_row;
    tile_.activation = plan.epilogue.activation;
    tile_.low = plan.epilogue.low;
    tile_.high = plan.epilogue.high;
  }

  /// `next` is the panel after this one: its weights are fetched meanwhile.
  void run(const ConvPanel& panel, const ConvPanel& next) {
    const bool blocked = plan_.packing.input() == ConvInput::kBlocked;
    const std::int64_t per_block = blocked ? kBlock : 1;
    tile_.weights = args_.packed + panel.weights_offset;
    tile_.bias = args_.packed + panel.first_out;
    tile_.blocks = static_cast<std::int32_t>(divide_up(panel.in_channels, per_block));
    tile_.last_channels =
        static_cast<std::int32_t>(panel.in_channels - (tile_.blocks - 1) * per_block);
    panel_input_ = input_ + panel.first_in / per_block * plan_.strip.block;
    panel_output_ = panel_offset(panel);
    width_ = static_cast<int>(panel.width);
    steps_ = panel.in_channels * tile_.tap_count;
    ahead_ = args_.packed + next.weights_offset;
    ahead_end_ = ahead_ + next.in_channels * tile_.tap_count * next.width;
    const ConvTileSet& tiles = plan_.tiles();
    most_pixels_ = panel.width == tiles.panel ? tiles.wide_pixels : tiles.block_pixels;
    if (plan_.flat) {
      run_row(0, 1, band_.count * plan_.output.w);
      return;
    }
    const bool pairs = 2 * plan_.output.w <= most_pixels_;
    for (std::int64_t r = 0; r < band_.count;) {
      const int rows = pairs && r + 1 < band_.count ? 2 : 1;
      run_row(r, rows, plan_.output.w);
      r += rows;
    }
  }

 private:
  std::int64_t panel_offset(const ConvPanel& panel) const {
    const std::int64_t block =
        band_.image * blocks_of(plan_.shape.out_channels) + panel.first_out / kBlock;
    return (block * plan_.output.h + band_.first) * plan_.output.w * kBlock;
  }

  /// `rows` output rows from row `r` of the band on, cut into tiles of nearly equal width.
  void run_row(std::int64_t r, int rows, std::int64_t cols) {
    const std::int64_t parts = divide_up(cols, most_pixels_ / rows);
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t begin = cols * part / parts;
      const std::int64_t end = cols * (part + 1) / parts;
      run_tile(r, begin, rows, static_cast<int>(end - begin));
    }
  }

  void run_tile(std::int64_t r, std::int64_t c, int rows, int cols) {
    const std::int64_t offset = panel_output_ + r * tile_.output_row + c * kBlock;
    tile_.input = panel_input_ + r * tile_.input_row + c * plan_.pixel;
    tile_.output = args_.output + offset;
    tile_.residual = plan_.epilogue.residual ? args_.residual + offset : nullptr;
    tile_.prefetch = ahead_ < ahead_end_ ? ahead_ : tile_.weights;
    if (ahead_ < ahead_end_) ahead_ += steps_ * kBlock;
    plan_.tiles().find(plan_.packing.input(), rows, cols, width_)(tile_);
  }

  const ConvPlan& plan_;
  const ConvArgs& args_;
  const Band& band_;
  const float* input_;
  ConvTile tile_;
  const float* panel_input_ = nullptr;
  const float* ahead_ = nullptr;
  const float* ahead_end_ = nullptr;
  std::int64_t panel_output_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t most_pixels_ = 1;
  int width_ = 0;
};

BlockRange blocks_read(const ConvPlan& plan, const Share& panels) {
  const std::int64_t per_block = plan.packing.input() == ConvInput::kBlocked ? kBlock : 1;
  const ConvPanel& first = plan.packing.panels()[static_cast<std::size_t>(panels.begin)];
  const ConvPanel& last = plan.packing.panels()[static_cast<std::size_t>(panels.end - 1)];
  const std::int64_t begin = first.first_in / per_block;
  return {begin, divide_up(last.first_in + last.in_channels, per_block) - begin};
}

void run_band(const ConvPlan& plan, const ConvArgs& args, const Band& band, const Share& panels,
              float* scratch) {
  const ConvShape& s = plan.shape;
  const std::int64_t image = plan.input_blocks() * s.input.h * s.input.w * plan.pixel;
  const float* input = args.input + band.image * image + band.first * s.stride.h * plan.strip.row;
  if (plan.strip.copied) {
    fill_strip(plan, args.input, band, blocks_read(plan, panels), scratch);
    input = scratch;
  }
  BandRun run(plan, args, band, input);
  const ConvPanel* list = plan.packing.panels().data();
  for (std::int64_t p = panels.begin; p < panels.end; ++p) {
    run.run(list[p], list[p + 1 < panels.end ? p + 1 : panels.begin]);
  }
}

}  // namespace

void run_conv(const ConvPlan& plan, const ConvArgs& args, const Worker& worker) {
  const Grid grid = choose_grid(plan, worker.count);
  const Worker by_rows = {worker.index % grid.over_rows, grid.over_rows};
  const Worker by_panels = {worker.index / grid.over_rows, grid.over_panels};
  const auto panel_count = static_cast<std::int64_t>(plan.packing.panels().size());
  const Share panels = share_of(panel_count, 1, by_panels);
  const Share rows = share_of(plan.shape.batch * plan.output.h, 1, by_rows);
  if (panels.begin == panels.end) return;
  for (std::int64_t row = rows.begin; row < rows.end;) {
    Band band = {row / plan.output.h, row % plan.output.h};
    band.count = std::min({plan.band_rows, plan.output.h - band.first, rows.end - row});
    run_band(plan, args, band, panels, reinterpret_cast<float*>(worker.scratch));
    row += band.count;
  }
}

}  // namespace sluice::cpu
