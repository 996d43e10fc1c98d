#include "conv/winograd/winograd.h"

#include <algorithm>

#include "conv/direct/conv_band.h"
#include "core/divide.h"

namespace sluice::cpu {
namespace {

/// Tiles [row, row + rows) x [col, col + cols), rows counted through all images.
struct TileBand {
  std::int64_t row = 0, rows = 0;
  std::int64_t col = 0, cols = 0;
};

/// The rows of tiles that a band has of one image.
struct ImagePart {
  std::int64_t image;
  std::int64_t row;
  std::int64_t end;
};

/// The part [begin, end) of the `length` pixels from `first` on that lies inside `extent`, counted
/// from `first`.
struct Inside {
  Inside(std::int64_t first, std::int64_t extent, std::int64_t length)
      : begin(static_cast<int>(std::clamp<std::int64_t>(-first, 0, length))),
        end(static_cast<int>(std::clamp<std::int64_t>(extent - first, begin, length))) {}
  int begin;
  int end;
};

/// One band of tiles on its way through the three steps of the method. Distances between positions
/// are `input_position` and `sums_position`.
///
///     image  --take_block-->  input_ [position][block of in][tile][16]
///            --multiply---->  sums_  [position][block of out][tile][16]
///            --give_block-->  output
///
/// The scratch holds input_, sums_, the widened weights of a pass, and temporaries of the body.
class BandOfTiles {
 public:
  BandOfTiles(const WinogradPlan& plan, const ConvArgs& args, const TileBand& band,
              const Share& panels, std::byte* scratch)
      : plan_(plan),
        args_(args),
        band_(band),
        panels_(panels),
        input_(reinterpret_cast<float*>(scratch)),
        sums_(input_ + positions_of(plan.tile) * plan.input_position),
        widened_(sums_ + positions_of(plan.tile) * plan.sums_position),
        body_scratch_(widened_ + plan.product.widened_floats()) {
    if (!plan.has_scales) return;
    const std::int64_t integers = positions_of(plan.tile) * plan.product.packing.size();
    scales_ = reinterpret_cast<const float*>(args.half_weights + integers);
  }

  void run() {
    const std::int64_t in_blocks = blocks_of(plan_.shape.in_channels);
    for (std::int64_t block = 0; block < in_blocks; ++block) take_block(block);
    multiply();
    for (std::int64_t p = panels_.begin; p < panels_.end; ++p) {
      const ConvPanel& panel = plan_.product.packing.panels()[static_cast<std::size_t>(p)];
      for (std::int64_t c = 0; c < panel.width; c += kBlock) {
        if (panel.first_out + c < plan_.shape.out_channels)
          give_block((panel.first_out + c) / kBlock);
      }
    }
  }

 private:
  std::int64_t tile_pixels() const { return pixels_of(plan_.tile); }
  /// Floats from one block of a position to the next.
  std::int64_t block_stride() const { return plan_.product.shape.input.h * kBlock; }

  template <typename Visit>
  void for_each_image(Visit visit) const {
    const std::int64_t end = band_.row + band_.rows;
    for (std::int64_t row = band_.row; row < end;) {
      const std::int64_t image = row / plan_.tiles.h;
      const std::int64_t first = image * plan_.tiles.h;
      const std::int64_t stop = std::min(end, first + plan_.tiles.h);
      visit(ImagePart{image, row - first, stop - first});
      row = stop;
    }
  }

  void take_block(std::int64_t block) const {
    WinogradInput patch;
    patch.tile = plan_.tile;
    patch.row = plan_.shape.input.w * kBlock;
    patch.position = plan_.input_position;
    patch.output = input_ + block * block_stride();
    for_each_image([&](const ImagePart& part) { take_part(part, block, &patch); });
  }

  void take_part(const ImagePart& part, std::int64_t block, WinogradInput* patch) const {
    const ConvShape& s = plan_.shape;
    const std::int64_t image_block = part.image * blocks_of(s.in_channels) + block;
    const float* image = args_.input + image_block * s.input.h * s.input.w * kBlock;
    for (std::int64_t r = part.row; r < part.end; ++r) {
      const std::int64_t y = r * tile_pixels() - s.pad_begin.h;
      const Inside rows(y, s.input.h, patch_of(plan_.tile));
      patch->row_begin = rows.begin;
      patch->row_end = rows.end;
      for (std::int64_t c = band_.col; c < band_.col + band_.cols; ++c) {
        const std::int64_t x = c * tile_pixels() - s.pad_begin.w;
        const Inside cols(x, s.input.w, patch_of(plan_.tile));
        patch->col_begin = cols.begin;
        patch->col_end = cols.end;
        patch->input = image + y * patch->row + x * kBlock;
        SLUICE_CPU_PICK(plan_.isa, winograd_input)(*patch);
        patch->output += kBlock;
      }
    }
  }

  void multiply() const {
    const std::int64_t weights = plan_.product.packing.size();
    const int positions = positions_of(plan_.tile);
    ConvArgs product;
    product.bias = plan_.no_bias.data();
    for (int p = 0; p < positions; ++p) {
      if (plan_.has_scales) {
        product.half_weights = args_.half_weights + p * weights;
      } else {
        product.weights = args_.weights + p * weights;
      }
      // The distance to the weights that the next product reads. Those of position 0 follow the
      // last: the next band begins with them.
      product.next_weights = ((p + 1) % positions - p) * weights;
      product.output = sums_ + p * plan_.sums_position;
      const float* input = input_ + p * plan_.input_position;
      run_band(plan_.product, product, {0, 0, band_.rows * band_.cols}, panels_,
               {input, nullptr, widened_, nullptr});
    }
  }

  void give_block(std::int64_t block) const {
    WinogradOutput tile;
    tile.tile = plan_.tile;
    tile.sums = sums_ + block * block_stride();
    tile.position = plan_.sums_position;
    if (scales_ != nullptr) tile.scales = scales_ + block * positions_of(plan_.tile) * kBlock;
    tile.bias = args_.bias + block * kBlock;
    tile.row = plan_.output.w * kBlock;
    tile.bounds = plan_.epilogue.bounds;
    for_each_image([&](const ImagePart& part) {
      give_part(part, block, &tile);
      if (!plan_.epilogue.body.empty()) finish_part(part, block);
    });
  }

  /// Offset of a block of an image in the output.
  std::int64_t output_block(const ImagePart& part, std::int64_t block) const {
    const std::int64_t blocks = blocks_of(plan_.shape.out_channels);
    return (part.image * blocks + block) * plan_.output.h * plan_.output.w * kBlock;
  }

  void give_part(const ImagePart& part, std::int64_t block, WinogradOutput* tile) const {
    const std::int64_t at = output_block(part, block);
    for (std::int64_t r = part.row; r < part.end; ++r) {
      const std::int64_t y = r * tile_pixels();
      tile->rows = static_cast<int>(std::min(tile_pixels(), plan_.output.h - y));
      for (std::int64_t c = band_.col; c < band_.col + band_.cols; ++c) {
        const std::int64_t x = c * tile_pixels();
        tile->cols = static_cast<int>(std::min(tile_pixels(), plan_.output.w - x));
        const std::int64_t pixel = at + y * tile->row + x * kBlock;
        tile->output = args_.output + pixel;
        tile->residual = plan_.epilogue.residual ? args_.residual + pixel : nullptr;
        SLUICE_CPU_PICK(plan_.isa, winograd_output)(*tile);
        tile->sums += kBlock;
      }
    }
  }

  /// The fused body over the pixels, row by row where the band does not have whole rows.
  void finish_part(const ImagePart& part, std::int64_t block) const {
    const std::int64_t first_row = part.row * tile_pixels();
    const std::int64_t end_row = std::min(part.end * tile_pixels(), plan_.output.h);
    const std::int64_t first_col = band_.col * tile_pixels();
    const std::int64_t end_col = std::min((band_.col + band_.cols) * tile_pixels(), plan_.output.w);
    const bool whole = end_col - first_col == plan_.output.w;
    const std::int64_t step = whole ? end_row - first_row : 1;
    float* plane = args_.output + output_block(part, block);
    ConvPiece piece;
    piece.image = part.image;
    piece.channel = block;
    piece.pixels = (end_col - first_col) * step;
    for (std::int64_t y = first_row; y < end_row; y += step) {
      piece.first_pixel = y * plan_.output.w + first_col;
      piece.out = plane + piece.first_pixel * kBlock;
      run_conv_body(plan_.epilogue.body, SLUICE_CPU_PICK(plan_.isa, run_body), args_.extra,
                    Layout::kBlocked, piece, body_scratch_);
    }
  }

  const WinogradPlan& plan_;
  const ConvArgs& args_;
  const TileBand& band_;
  const Share& panels_;
  float* input_;
  float* sums_;
  float* widened_;  ///< weights of a pass
  float* body_scratch_;
  const float* scales_ = nullptr;
};

}  // namespace

/// By cost: whatever lets the busiest worker move and multiply less.
bool shares_rows(const WinogradPlan& plan, int workers) {
  if (plan.division != Division::kByCost) return plan.division == Division::kRows;
  const auto part = [&](std::int64_t items) {
    return static_cast<double>(divide_up(items, workers)) / static_cast<double>(items);
  };
  const auto tiles = static_cast<double>(plan.shape.batch * plan.tiles.h * plan.tiles.w);
  const auto in = static_cast<double>(plan.shape.in_channels);
  const auto out = static_cast<double>(plan.shape.out_channels);
  const double rows = part(plan.shape.batch * plan.tiles.h);
  const double panels = part(static_cast<std::int64_t>(plan.product.packing.panels().size()));
  // Products that a core sums in the time that it moves one float.
  constexpr double kSumsPerFloatMoved = 16;
  const double products = tiles * in * out / kSumsPerFloatMoved;
  const double by_rows = products * rows + in * out + tiles * rows * (2 * in + out);
  const double by_panels = products * panels + in * out * panels + tiles * (2 * in + out * panels);
  return by_rows <= by_panels;
}

void run_winograd(const WinogradPlan& plan, const ConvArgs& args, const Worker& worker) {
  const auto panel_count = static_cast<std::int64_t>(plan.product.packing.panels().size());
  const bool by_rows = shares_rows(plan, worker.count);
  const Worker alone = {0, 1};
  const Share panels = share_of(panel_count, 1, by_rows ? alone : worker);
  const Share rows = share_of(plan.shape.batch * plan.tiles.h, 1, by_rows ? worker : alone);
  if (panels.begin == panels.end) return;
  for (std::int64_t row = rows.begin; row < rows.end;) {
    // Bands of nearly equal height: a low last band would read all weights for little work.
    const std::int64_t left = rows.end - row;
    TileBand band = {.row = row, .rows = divide_up(left, divide_up(left, plan.band.h))};
    for (band.col = 0; band.col < plan.tiles.w; band.col += plan.band.w) {
      band.cols = std::min(plan.band.w, plan.tiles.w - band.col);
      BandOfTiles(plan, args, band, panels, worker.scratch).run();
    }
    row += band.rows;
  }
}

}  // namespace sluice::cpu
