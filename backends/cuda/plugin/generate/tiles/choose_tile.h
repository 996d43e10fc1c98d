// Which tile of the result a block computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/generate/tiles/product.h"

namespace sluice::cuda {

/// A block computes m x n elements, and reads k of each line in a step. Its warps divide the tile;
/// where `warps_k` is not 1, they divide each step too, and add up what they have at the end.
struct Tile {
  int m, n, k;
  int warps_m, warps_n, warps_k;
  int stages;  ///< steps that shared memory holds

  /// "tile-128x64x32", the name of the tactic.
  std::string name() const;
  constexpr int threads() const { return 32 * warps_m * warps_n * warps_k; }
  /// At most 48 KiB, less the word of a masked kernel: kernels have no dynamic shared memory.
  constexpr int shared_bytes(int element_bytes) const {
    return (m + n) * k * stages * element_bytes;
  }
};

/// For f16 and bf16, on matrix units.
Tile choose_half_tile(const Product& product);
/// For f32, on the multiply-add units.
Tile choose_float_tile(const Product& product);

/// All tiles that these choose from: tactics of products.
std::vector<Tile> half_tiles();
std::vector<Tile> float_tiles();

/// The most rows that the kernel of one thread per column and slice of k has (vectors.h).
int max_vector_rows(int element_bytes);

}  // namespace sluice::cuda
