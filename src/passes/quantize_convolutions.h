// Putting QuantizeLinear and DequantizeLinear around convolutions, for `fuse_quantized` to find.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace sluice::passes {

/// What a tensor's elements were found between.
struct ValueRange {
  float low = 0;
  float high = 0;
};

/// What is to be computed in 8 bits.
struct QuantizationPlan {
  std::vector<ir::OperationId> convolutions;
  /// Their images, what stands before maxima of which they are, and one of two convolutions that
  /// are added: these are kept as bytes, so their ranges must be known.
  std::vector<ir::OperandId> activations;
  /// Those of them of which activations are functions, element by element: all that is computed of
  /// them is computed of bytes.
  std::vector<ir::OperandId> arguments;
};

/// Convolutions of images in one group with constant weights, but those whose names are `kept`.
QuantizationPlan plan_quantization(const ir::Subgraph& subgraph, const std::set<std::string>& kept);

/// Rounds the weights to i8, a scale per output channel, and the plan's activations to u8, as
/// `ranges` say, which have an entry for each. Requires: the plan was made of this subgraph.
void quantize_convolutions(ir::Subgraph& subgraph, const QuantizationPlan& plan,
                           const std::map<ir::OperandId, ValueRange>& ranges);

}  // namespace sluice::passes
