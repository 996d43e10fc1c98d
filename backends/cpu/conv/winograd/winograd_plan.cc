#include <algorithm>

#include "conv/winograd/winograd.h"
#include "core/divide.h"

namespace sluice::cpu {
namespace {

Extent tiles_of(Extent output, WinogradTile tile) {
  return {divide_up(output.h, pixels_of(tile)), divide_up(output.w, pixels_of(tile))};
}

/// Whole rows of tiles where they fit, of several images if need be, else parts of one row.
Extent choose_band(const ConvShape& s, WinogradTile tile, Extent tiles,
                   const WinogradBlocks& blocks) {
  const std::int64_t tile_bytes = (blocks_of(s.in_channels) + blocks_of(s.out_channels)) * kBlock *
                                  positions_of(tile) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t most = std::max(blocks.band_tiles, blocks.band_bytes / tile_bytes);
  if (tiles.w > most) return {1, divide_up(tiles.w, divide_up(tiles.w, most))};
  const std::int64_t all = s.batch * tiles.h;
  return {divide_up(all, divide_up(all, most / tiles.w)), tiles.w};
}

/// Distances of an odd number of cache lines: the lines of a tile fall into different sets.
std::int64_t odd_lines(std::int64_t floats) { return (floats / kBlock | 1) * kBlock; }

// Relative rates of one core, measured with bench_conv: multiply-adds per ns of the direct method
// and of the products, ns to transform 16 channels at a position, bytes of weights per ns.
constexpr double kDirect = 56;
constexpr double kProducts = 48;
constexpr double kInputNs = 1.9;
constexpr double kOutputNs = 1.4;
constexpr double kWeightBytes = 12;

double winograd_ns(const ConvShape& s, WinogradTile tile) {
  const int positions = positions_of(tile);
  const Extent tiles = tiles_of(s.output(), tile);
  const auto lines = static_cast<double>(s.batch * tiles.h * tiles.w * positions);
  const auto pairs = static_cast<double>(s.in_channels * s.out_channels);
  const double products = pairs * lines / kProducts;
  const Extent band = choose_band(s, tile, tiles, {});
  const auto bands =
      static_cast<double>(divide_up(s.batch * tiles.h, band.h) * divide_up(tiles.w, band.w));
  const double weights = bands * positions * pairs * sizeof(float) / kWeightBytes;
  const double transforms = lines * (static_cast<double>(blocks_of(s.in_channels)) * kInputNs +
                                     // Reading the weights overlaps with the products; the
                                     // transforms do not.
                                     static_cast<double>(blocks_of(s.out_channels)) * kOutputNs);
  return std::max(products, weights) + transforms;
}

}  // namespace

const char* winograd_refusal(const ConvShape& s) {
  if (s.kernel.h != 3 || s.kernel.w != 3) return "the kernel is not 3x3";
  if (s.stride.h != 1 || s.stride.w != 1) return "the stride is not 1";
  if (s.dilation.h != 1 || s.dilation.w != 1) return "the kernel is dilated";
  if (s.groups != 1) return "channels are in groups";
  const bool blocked = s.in_layout == Layout::kBlocked && s.out_layout == Layout::kBlocked;
  return blocked ? nullptr : "an image is in planes";
}

ConvShape winograd_product(const ConvShape& shape, std::int64_t tiles) {
  ConvShape product;
  product.in_channels = shape.in_channels;
  product.out_channels = shape.out_channels;
  product.input = {tiles, 1};
  return product;
}

std::optional<WinogradTile> winograd_pays(const ConvShape& s) {
  if (winograd_refusal(s) != nullptr) return std::nullopt;
  const Extent out = s.output();
  if (std::min({s.batch, out.h, out.w}) <= 0) return std::nullopt;  // not known yet
  const auto pairs = static_cast<double>(s.in_channels * s.out_channels);
  std::optional<WinogradTile> best;
  double best_ns = 9 * pairs * static_cast<double>(s.batch * out.h * out.w) / kDirect;
  for (const WinogradTile tile : {WinogradTile::kFour, WinogradTile::kTwo}) {
    const double ns = winograd_ns(s, tile);
    if (ns >= best_ns) continue;
    best_ns = ns;
    best = tile;
  }
  return best;
}

std::int64_t WinogradPlan::scratch_bytes() const {
  return (positions_of(tile) * (input_position + sums_position) + product.widened_floats()) *
             static_cast<std::int64_t>(sizeof(float)) +
         epilogue.body.body.scratch_bytes();
}

WinogradPlan plan_winograd(const ConvShape& shape, const ConvEpilogue& epilogue, Isa isa,
                           WinogradWeights weights, const WinogradBlocks& blocks) {
  const WinogradTile tile = weights.tile;
  const Extent output = shape.output();
  const Extent tiles = tiles_of(output, tile);
  const Extent band = choose_band(shape, tile, tiles, blocks);
  const std::int64_t count = band.h * band.w;
  WinogradPlan plan = {
      .shape = shape,
      .output = output,
      .epilogue = epilogue,
      .isa = isa,
      .tile = tile,
      .has_scales = weights.has_scales(),
      .tiles = tiles,
      .band = band,
      .division = blocks.division,
      .product = plan_conv(winograd_product(shape, count), {}, isa, {}, weights.storage),
      .no_bias = {}};
  plan.no_bias.assign(static_cast<std::size_t>(blocks_of(shape.out_channels) * kBlock), 0.0F);
  plan.input_position = odd_lines(blocks_of(shape.in_channels) * count * kBlock);
  plan.sums_position = odd_lines(blocks_of(shape.out_channels) * count * kBlock);
  return plan;
}

}  // namespace sluice::cpu
