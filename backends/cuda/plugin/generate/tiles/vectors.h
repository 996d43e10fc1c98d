// Products with few rows, as when a model writes one token after the other: the second factor is
// read once, straight to registers, and its way through memory is the time.
#pragma once

#include <string>

#include "plugin/generate/tiles/product.h"

namespace sluice::cuda {

inline constexpr unsigned kVectorThreads = 256;

/// Which columns a block computes. Where neighbours of b are along k a warp takes `each` columns,
/// else a lane takes a load's worth of columns, and `lanes` of them stand side by side; the others
/// take other elements of k.
struct Vectors {
  bool is_along_k = true;
  bool is_odd = false;  ///< loads are wider than what divides a row of b
  int each = 1;
  int lanes = 1;
  int vector = 1;   ///< elements of a load
  int columns = 1;  ///< of a block
};

Vectors choose_vectors(const Product& product, int element_bytes);

/// `find_vectors(block)` and `compute_vectors(a, b, place, finish)`, which calls
/// finish(row, column, one sum).
/// Requires ahead of it: factors_text, kRunsText, `T`, kM, kN, kK; kRun = 1.
std::string vectors_text(const Vectors& vectors);

}  // namespace sluice::cuda
