// The kernel of a product: by tiles, or for few rows by columns.
#pragma once

#include "plugin/generate/text/source.h"
#include "plugin/generate/tiles/choose_tile.h"
#include "plugin/generate/tiles/finish.h"
#include "plugin/generate/tiles/product.h"

namespace sluice::cuda {

/// Writes the kernel of `product`, whose factors are inputs of `op`, by the tactic that `op` names.
/// Requires: check_floats was ok, every dimension is known, and none is 0, besides perhaps k.
/// Fails: UNIMPLEMENTED  a launch has too few blocks
Status write_product(const sluice_op& op, const Product& product, const Finish& finish,
                     Source* source);

/// The names of its tactics: products by tiles of every size.
std::vector<std::string> product_tactics(const sluice_op& op);

/// As write_product, with tiles of a given size.
Status write_tiles(const sluice_op& op, const Product& product, const Finish& finish,
                   const Tile& tile, Source* source);

}  // namespace sluice::cuda
