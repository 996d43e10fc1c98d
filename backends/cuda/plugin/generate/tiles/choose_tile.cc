#include "plugin/generate/tiles/choose_tile.h"

#include <array>
#include <limits>
#include <span>

namespace sluice::cuda {
namespace {

// Packages are compiled where the device is not known. Those that people run large products on have
// about this many multiprocessors; for a small one the choice is a little finer than need be.
constexpr std::int64_t kMultiprocessors = 100;

/// A tile, and how much of the peak a multiprocessor that is full of them reaches. Large tiles read
/// each element of shared memory for more products; small ones fill the device. The numbers order
/// the tiles; they are ratios of the instructions of a step.
struct Candidate {
  Tile tile;
  double share;
};

constexpr std::array<Candidate, 5> kHalfTiles = {{
    {{128, 128, 32, 2, 2, 1, 2}, 1.0},  // a warp: 64 x 64, 8 products per load of a matrix
    {{128, 64, 32, 2, 2, 1, 3}, 0.8},   // a warp: 64 x 32
    {{64, 128, 32, 2, 2, 1, 3}, 0.8},   // for few rows: convolutions of few channels
    {{64, 64, 32, 2, 2, 1, 4}, 0.6},    // a warp: 32 x 32
    {{32, 32, 128, 1, 1, 4, 2}, 0.25},  // four warps on a fourth of each step
}};
// Generating tokens: the time is that of the weights' way through memory, so blocks are many and
// steps are long.
constexpr Tile kFewRows = {16, 32, 128, 1, 1, 4, 2};
constexpr Tile kFewRowsAndColumns = {16, 16, 256, 1, 1, 8, 2};

constexpr std::array<Candidate, 3> kFloatTiles = {{
    {{128, 128, 16, 4, 2, 1, 2}, 1.0},  // a thread: 8 x 8, 16 products per load of 16 bytes
    {{64, 64, 16, 2, 2, 1, 3}, 0.75},   // a thread: 8 x 4
    {{32, 32, 32, 1, 1, 4, 3}, 0.5},    // four warps on a fourth of each step
}};

constexpr bool fits(const Tile& tile, int element_bytes) {
  // Parts of warps that divide a step lie where the steps were, with a gap of 8 between lines.
  const int parts = tile.warps_k == 1 ? 0 : tile.warps_k * tile.m * (tile.n + 8) * 4;
  const int bytes = tile.shared_bytes(element_bytes);
  return bytes + 16 <= 48 * 1024 && parts <= bytes && tile.stages >= 2;
}
static_assert([] {
  bool all_fit = fits(kFewRows, 2) && fits(kFewRowsAndColumns, 2);
  for (const Candidate& candidate : kHalfTiles) all_fit = all_fit && fits(candidate.tile, 2);
  for (const Candidate& candidate : kFloatTiles) all_fit = all_fit && fits(candidate.tile, 4);
  return all_fit;
}());

std::int64_t tiles_of(const Product& product, const Tile& tile) {
  return (product.m + tile.m - 1) / tile.m * ((product.n + tile.n - 1) / tile.n) *
         product.num_batches();
}

/// The tile with which the device is done first: rounds of blocks, times the work of one.
Tile fastest(const Product& product, std::span<const Candidate> candidates) {
  Tile best = candidates.back().tile;
  double least = std::numeric_limits<double>::max();
  for (const auto& [tile, share] : candidates) {
    const std::int64_t rounds = (tiles_of(product, tile) + kMultiprocessors - 1) / kMultiprocessors;
    const double time = static_cast<double>(rounds) * tile.m * tile.n / share;
    if (time < least) {
      least = time;
      best = tile;
    }
  }
  return best;
}

}  // namespace

std::string Tile::name() const {
  return "tile-" + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

Tile choose_half_tile(const Product& product) {
  if (product.m <= kFewRows.m) {
    return tiles_of(product, kFewRows) >= kMultiprocessors ? kFewRows : kFewRowsAndColumns;
  }
  // Elements that are copied one by one pass through registers, which the sums of a large tile
  // leave less room for.
  const std::size_t num_singly =
      (product.a.vector == 1 ? 1U : 0U) + (product.b.vector == 1 ? 1U : 0U);
  constexpr std::size_t kFirst[] = {0, 1, 3};
  return fastest(product, std::span(kHalfTiles).subspan(kFirst[num_singly]));
}

Tile choose_float_tile(const Product& product) {
  // A product of one step hides no copy behind the next, and its memory is that of the result. In a
  // large tile the compiler mixes the copies with the sums, which then spill.
  const bool is_one_step = product.k <= kFloatTiles.front().tile.k;
  return fastest(product, std::span(kFloatTiles).subspan(is_one_step ? 1 : 0));
}

std::vector<Tile> half_tiles() {
  std::vector<Tile> tiles = {kFewRows, kFewRowsAndColumns};
  for (const Candidate& candidate : kHalfTiles) tiles.push_back(candidate.tile);
  return tiles;
}

std::vector<Tile> float_tiles() {
  std::vector<Tile> tiles;
  for (const Candidate& candidate : kFloatTiles) tiles.push_back(candidate.tile);
  return tiles;
}

// 32 sums of 32 bits, or 64 where a load has eight elements, fit a thread's registers.
int max_vector_rows(int element_bytes) { return element_bytes == 2 ? 4 : 8; }

}  // namespace sluice::cuda
