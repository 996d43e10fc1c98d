// Graphs like that of a golden case with other constants: zeros of both signs, subnormals, numbers
// at the edges of their type, infinities, NaN, other shapes.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/result.h"
#include "golden/golden_case.h"
#include "ir/graph.h"

namespace sluice::golden {

/// A tensor in host memory.
struct HostTensor {
  ir::ElementType element = ir::ElementType::kUndefined;
  std::vector<std::int64_t> dims;
  std::vector<std::byte> bytes;
};

struct Variant {
  ir::Graph graph;      ///< complete
  std::string changes;  ///< for messages: "%half: all nan"
  /// Whether changed constants are so large, small or infinite that kernels may overflow or lose
  /// digits without any rewrite.
  bool is_extreme = false;
};

/// The graph of a case; constants of equal elements in a splat have random ones, and symbolic
/// dimensions of inputs are numbers.
Result<ir::Graph> base_graph(const std::string& text);

/// The base graph with one or two of its constants changed; the same for the same seed.
/// Fails: kInvalidArgument if the changed graph has no types: the change did not fit.
Result<Variant> vary(const GoldenCase& golden, std::uint32_t seed);

/// Inputs for the graph. Bools hide whole rows now and then; inputs whose name starts with "mask"
/// are 0 or a number that hides.
std::vector<HostTensor> random_inputs(const ir::Subgraph& main, std::uint32_t seed);

/// Floats moved by a few units in the last place.
std::vector<HostTensor> disturbed(std::vector<HostTensor> inputs, std::uint32_t seed);

/// Constants of several f32 moved by a unit in the last place.
ir::Graph disturbed(ir::Graph graph, std::uint32_t seed);

}  // namespace sluice::golden
