#include "conv/direct/conv_band.h"

#include <algorithm>

#include "core/divide.h"
#include "kernels/image/transpose.h"

namespace sluice::cpu {
namespace {

/// A panel of output channels with some of its input blocks. All tiles of the band complete one
/// pass before the next begins. The weights of a pass stay in L2 while those of the next are
/// prefetched.
struct Pass {
  std::int64_t panel = 0;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
  std::int64_t last_channels = 0;
  bool starts = false;       ///< first pass of its panel
  bool finishes = false;     ///< last pass of its panel
  std::int64_t weights = 0;  ///< the first one's place among the packed weights
  const float* input = nullptr;
  std::int64_t output = 0;  ///< offset of the band's first pixel and the panel's first channel
};

/// Output rows [begin, end) of the band by columns, summed over some taps of the kernel.
struct SkippingPiece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t rows = 1;  ///< of a tile
  const TapGroup& columns;
  TapRange taps;
  bool starts = false;    ///< the first taps of these outputs
  bool finishes = false;  ///< the last
};

/// Computes the panels of one band. Each tile prefetches what the next one reads, so every function
/// here knows the tile, pass and panel that follow.
class BandRun {
 public:
  BandRun(const ConvPlan& plan, const ConvArgs& args, const Band& band, const Share& panels,
          const BandPlace& place)
      : plan_(plan), args_(args), band_(band), panels_(panels), place_(place) {
    tile_.block_stride = plan.strip.block;
    tile_.input_row = plan.strip.rows_per_output * plan.strip.row;
    tile_.output_row = plan.output.w * kBlock;
    tile_.output_block = (to_planes() ? band.count : plan.output.h) * tile_.output_row;
  }

  void run() {
    pass_ = pass_at(panels_.begin, 0);
    while (true) {
      next_ = following(pass_);
      run_pass();
      if (pass_.finishes) finish_panel(panel(pass_.panel));
      if (pass_.finishes && pass_.panel + 1 == panels_.end) return;
      pass_ = next_;
    }
  }

 private:
  std::int64_t all_taps() const { return static_cast<std::int64_t>(plan_.taps.size()); }
  bool to_planes() const { return plan_.shape.out_layout == Layout::kPlanes; }
  float* output() const { return to_planes() ? place_.sums : args_.output; }

  const ConvPanel& panel(std::int64_t index) const {
    return plan_.packing.panels()[static_cast<std::size_t>(index)];
  }

  Pass pass_at(std::int64_t index, std::int64_t first_block) const {
    const ConvPanel& p = panel(index);
    const std::int64_t per_block = plan_.channels_per_block();
    const std::int64_t all = divide_up(p.in_channels, per_block);
    Pass pass;
    pass.panel = index;
    pass.first_block = first_block;
    pass.blocks = std::min(plan_.pass_blocks, all - first_block);
    pass.starts = first_block == 0;
    pass.finishes = first_block + pass.blocks == all;
    pass.last_channels = pass.finishes ? p.in_channels - (all - 1) * per_block : per_block;
    pass.weights = p.weights_offset + first_block * per_block * all_taps() * p.width;
    pass.input = place_.input + (p.first_in / per_block + first_block) * plan_.strip.block;
    if (to_planes()) return pass;
    const std::int64_t out_block =
        band_.image * blocks_of(plan_.shape.out_channels) + p.first_out / kBlock;
    pass.output = (out_block * plan_.output.h + band_.first) * plan_.output.w * kBlock;
    return pass;
  }

  Pass following(const Pass& pass) const {
    if (!pass.finishes) return pass_at(pass.panel, pass.first_block + pass.blocks);
    if (pass.panel + 1 < panels_.end) return pass_at(pass.panel + 1, 0);
    Pass first = pass_at(panels_.begin, 0);
    first.weights += args_.next_weights;
    return first;
  }

  void run_pass() {
    const ConvPanel& p = panel(pass_.panel);
    tile_.blocks = static_cast<std::int32_t>(pass_.blocks);
    tile_.last_channels = static_cast<std::int32_t>(pass_.last_channels);
    take_weights();
    take_taps({0, all_taps()}, pass_.starts, pass_.finishes);
    const ConvTileSet& tiles = plan_.tiles();
    max_pixels_ = p.width == tiles.panel ? tiles.wide_pixels : tiles.block_pixels;
    if (plan_.flat) {
      const std::int64_t cols = band_.count * plan_.output.w;
      spread_next_weights(p.width, divide_up(cols, max_pixels_));
      run_row(0, 1, 0, cols);
      return;
    }
    if (plan_.skips.pays) return run_without_padding();
    const std::int64_t rows = 2 * plan_.output.w <= max_pixels_ ? 2 : 1;
    const std::int64_t parts = divide_up(plan_.output.w, max_pixels_ / rows);
    spread_next_weights(p.width, parts * divide_up(band_.count, rows));
    for (std::int64_t r = 0; r < band_.count; r += rows) {
      run_row(r, static_cast<int>(std::min(rows, band_.count - r)), 0, plan_.output.w);
    }
  }

  /// The weights of the pass, as floats.
  void take_weights() {
    if (args_.half_weights == nullptr) {
      weights_ = args_.weights + pass_.weights;
      tile_.next_weights = args_.weights + next_.weights;
      return;
    }
    const std::int64_t channels =
        (pass_.blocks - 1) * plan_.channels_per_block() + pass_.last_channels;
    SLUICE_CPU_PICK(plan_.isa, to_floats)
    (plan_.weights, args_.half_weights + pass_.weights,
     channels * all_taps() * panel(pass_.panel).width, place_.weights);
    weights_ = place_.weights;
    tile_.next_weights = reinterpret_cast<const float*>(args_.half_weights + next_.weights);
  }

  /// `weights` of the next pass are fetched beside `steps` of this one.
  void spread_next_weights(std::int64_t weights, std::int64_t steps) {
    const std::int64_t floats = args_.half_weights == nullptr ? weights : divide_up(weights, 2);
    tile_.next_weights_step = divide_up(floats, steps);
  }

  /// The tiles that follow sum over these taps, which are the first or last of their outputs or are
  /// not. Requires: all taps, or whole blocks.
  void take_taps(TapRange taps, bool starts, bool finishes) {
    const ConvPanel& p = panel(pass_.panel);
    tile_.taps = plan_.taps.data() + taps.begin;
    tile_.tap_count = static_cast<std::int32_t>(taps.count());
    tile_.weights = weights_ + taps.begin * kBlock * p.width;
    tile_.weights_skip = (all_taps() - taps.count()) * kBlock * p.width;
    tile_.bias = starts ? args_.bias + p.first_out : nullptr;
    tile_.bounds = finishes ? plan_.epilogue.bounds : Bounds{};
    steps_ = ((pass_.blocks - 1) * plan_.channels_per_block() + pass_.last_channels) * taps.count();
  }

  /// All rows of the band without the taps that lie in padding.
  void run_without_padding() {
    std::int64_t tap_steps = 0;
    visit_pieces([&](const SkippingPiece& piece) {
      const std::int64_t columns = piece.columns.end - piece.columns.begin;
      tap_steps += piece.taps.count() * divide_up(piece.end - piece.begin, piece.rows) *
                   divide_up(columns, max_pixels_ / piece.rows);
    });
    spread_next_weights(panel(pass_.panel).width * all_taps(), tap_steps);
    visit_pieces([&](const SkippingPiece& piece) {
      take_taps(piece.taps, pass_.starts && piece.starts, pass_.finishes && piece.finishes);
      for (std::int64_t r = piece.begin; r < piece.end; r += piece.rows) {
        const std::int64_t rows = std::min(piece.rows, piece.end - r);
        run_row(r, static_cast<int>(rows), piece.columns.begin, piece.columns.end);
      }
    });
  }

  template <typename Visit>
  void visit_pieces(const Visit& visit) const {
    const std::int64_t width = plan_.shape.kernel.w;
    for (const TapGroup& rows : plan_.skips.rows) {
      const std::int64_t begin = std::max<std::int64_t>(rows.begin - band_.first, 0);
      const std::int64_t end = std::min(rows.end - band_.first, band_.count);
      if (begin >= end) continue;
      for (const TapGroup& columns : plan_.skips.columns) {
        const std::int64_t at_once = 2 * (columns.end - columns.begin) <= max_pixels_ ? 2 : 1;
        const std::int64_t together = columns.taps.count() == width ? rows.taps.count() : 1;
        for (std::int64_t k = rows.taps.begin; k < rows.taps.end; k += together) {
          const std::int64_t first = k * width + columns.taps.begin;
          const TapRange taps = {first, first + together * columns.taps.count()};
          visit(SkippingPiece{begin, end, at_once, columns, taps, k == rows.taps.begin,
                              k + together == rows.taps.end});
        }
      }
    }
  }

  /// Moves the sums from scratch to the output if the output is in planes, then runs the body.
  void finish_panel(const ConvPanel& p) {
    if (!to_planes() && plan_.epilogue.body.empty()) return;
    ConvPiece piece;
    piece.image = band_.image;
    piece.first_pixel = band_.first * plan_.output.w;
    piece.pixels = band_.count * plan_.output.w;
    for (std::int64_t c = 0; c < p.width && p.first_out + c < plan_.shape.out_channels;
         c += kBlock) {
      const std::int64_t block = c / kBlock * tile_.output_block;
      piece.out = args_.output + pass_.output + block;
      piece.channel = (p.first_out + c) / kBlock;
      if (to_planes()) store_planes(place_.sums + block, p.first_out + c, &piece);
      if (plan_.epilogue.body.empty()) continue;
      run_conv_body(plan_.epilogue.body, SLUICE_CPU_PICK(plan_.isa, run_body), args_.extra,
                    plan_.shape.out_layout, piece, place_.body_scratch);
    }
  }

  void store_planes(const float* block, std::int64_t channel, ConvPiece* piece) {
    piece->channel = channel;
    piece->plane = plan_.output.h * plan_.output.w;
    piece->planes = std::min<std::int64_t>(kBlock, plan_.shape.out_channels - channel);
    piece->out = args_.output + piece->first_pixel +
                 (band_.image * plan_.shape.out_channels + channel) * piece->plane;
    SLUICE_CPU_PICK(plan_.isa, block_to_planes)
    (block, piece->pixels, piece->planes, piece->out, piece->plane);
  }

  /// Computes columns [first, last) of `rows` output rows from row `r` of the band on, in tiles of
  /// nearly equal width.
  void run_row(std::int64_t r, int rows, std::int64_t first, std::int64_t last) {
    const std::int64_t cols = last - first;
    const std::int64_t parts = divide_up(cols, max_pixels_ / rows);
    const std::int64_t wider = cols % parts;
    std::int64_t begin = first;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t end = begin + cols / parts + (part < wider ? 1 : 0);
      if (end < last) {
        expect_next(pass_, r, end);
      } else if (!plan_.flat && r + rows < band_.count) {
        expect_next(pass_, r + rows, 0);
      } else {
        expect_next(next_, 0, 0);
      }
      run_tile(r, begin, rows, static_cast<int>(end - begin));
      begin = end;
    }
  }

  void expect_next(const Pass& pass, std::int64_t r, std::int64_t c) {
    const float* base = plan_.epilogue.residual && pass.starts ? args_.residual : output();
    tile_.next_input = pass.input + r * tile_.input_row + c * plan_.pixel;
    tile_.next_output = base + pass.output + r * tile_.output_row + c * kBlock;
  }

  void run_tile(std::int64_t r, std::int64_t c, int rows, int cols) {
    const std::int64_t offset = pass_.output + r * tile_.output_row + c * kBlock;
    tile_.input = pass_.input + r * tile_.input_row + c * plan_.pixel;
    tile_.output = output() + offset;
    tile_.residual =
        plan_.epilogue.residual && tile_.bias != nullptr ? args_.residual + offset : nullptr;
    if (rows != kernel_rows_ || cols != kernel_cols_ || pass_.panel != kernel_panel_) {
      find_kernel(rows, cols);
      kernel_rows_ = rows;
      kernel_cols_ = cols;
      kernel_panel_ = pass_.panel;
    }
    kernel_(tile_);
    tile_.next_weights += steps_ * tile_.next_weights_step;
  }

  void find_kernel(int rows, int cols) {
    const ConvPanel& p = panel(pass_.panel);
    const auto width = static_cast<int>(p.width);
    const ConvInput input = plan_.packing.input();
    const bool is_half = plan_.shape.out_channels - p.first_out <= p.width - kBlock / 2;
    const bool takes_half = is_half && rows == 1 && input == ConvInput::kBlocked;
    kernel_ = takes_half ? plan_.tiles().find_half(cols, width)
                         : plan_.tiles().find(input, rows, cols, width);
  }

  const ConvPlan& plan_;
  const ConvArgs& args_;
  const Band& band_;
  const Share& panels_;
  const BandPlace& place_;
  ConvTile tile_;
  Pass pass_;
  Pass next_;
  const float* weights_ = nullptr;  ///< of the pass
  std::int64_t steps_ = 0;
  std::int64_t max_pixels_ = 1;
  ConvTileKernel kernel_ = nullptr;
  int kernel_rows_ = 0;
  int kernel_cols_ = 0;
  std::int64_t kernel_panel_ = -1;
};

}  // namespace

void run_band(const ConvPlan& plan, const ConvArgs& args, const Band& band, const Share& panels,
              const BandPlace& place) {
  BandRun(plan, args, band, panels, place).run();
}

}  // namespace sluice::cpu
