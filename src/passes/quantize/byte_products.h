// Products with constant bytes, as sluice::NarrowMatMul.
#pragma once

#include <optional>
#include <vector>

#include "passes/pass.h"

namespace sluice::passes {

/// A constant matrix of i8 around 0: [K, N], or [N, K] if it is flipped.
struct ByteMatrix {
  ir::OperandId bytes;
  std::vector<double> scales;  ///< one, or one per column
  bool is_flipped = false;
};

/// The product of f32 %x with the matrix, which rounds rows of %x to 8 bits; nullopt if no backend
/// has a kernel for it, or the scales do not fit. Adds a constant to the subgraph.
std::optional<ir::Operation> make_byte_product(const ir::Graph& graph, ir::Subgraph& subgraph,
                                               const PassContext& context, ir::OperandId x,
                                               const ByteMatrix& matrix, ir::OperandId result);

}  // namespace sluice::passes
