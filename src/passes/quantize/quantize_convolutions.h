// Inserts QuantizeLinear and DequantizeLinear around convolutions, for `fuse_quantized` to match.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace sluice::passes {

/// The smallest and largest observed element of a tensor.
struct ValueRange {
  float low = 0;
  float high = 0;
};

/// The operations and operands to compute in 8 bits.
struct QuantizationPlan {
  std::vector<ir::OperationId> convolutions;
  /// Operands stored as bytes, whose ranges must be observed: the convolutions' input images, the
  /// inputs of MaxPools that produce such images, and one of two convolutions that are added.
  std::vector<ir::OperandId> activations;
  /// The subset of `activations` that other activations are element-wise functions of. All readers
  /// of these operands read the bytes.
  std::vector<ir::OperandId> arguments;
};

/// Selects convolutions of images in one group with constant weights, except those named in `kept`.
QuantizationPlan plan_quantization(const ir::Subgraph& subgraph, const std::set<std::string>& kept);

/// Rounds the weights to i8 with a scale per output channel, and the plan's activations to u8.
/// `ranges` has an entry for each of them.
/// Requires: the plan was made from this subgraph.
void quantize_convolutions(ir::Subgraph& subgraph, const QuantizationPlan& plan,
                           const std::map<ir::OperandId, ValueRange>& ranges);

}  // namespace sluice::passes
