// Why a compiled model runs where it does: for `sluice explain`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compile/assign.h"
#include "package/executable.h"

namespace sluice::compile {

/// What one backend says of one operation.
struct Alternative {
  std::string backend;
  bool is_supported = false;
  std::string reason;       ///< why not
  double cost_ns = 0;       ///< the backend's rough estimate; 0 if it gives none
  bool is_generic = false;  ///< by a generic kernel, much slower than one of its own
};

struct NodePlacement {
  std::size_t subgraph = 0;
  std::size_t position = 0;  ///< in the subgraph's order
  std::string name;          ///< may be empty
  std::string kind;          ///< with its domain, and with the operators of its fused body
  std::string backend;       ///< empty for views and the executor's own steps
  std::string why;
  int segment = -1;                       ///< -1 outside the main subgraph
  std::vector<Alternative> alternatives;  ///< in the order of the backends asked; none for steps
};

struct SegmentSummary {
  std::string name;
  std::string backend;  ///< empty if the executor runs all of it
  int cores = 1;
  std::size_t num_operations = 0;
  double cost_ns = 0;  ///< sum of the estimates that its backend gives
};

/// Tensors that one segment computes and another reads.
struct SegmentEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  int num_tensors = 0;
  std::int64_t size_bytes = 0;  ///< of those whose shape is static
};

struct Explanation {
  std::vector<NodePlacement> nodes;
  std::vector<SegmentSummary> segments;
  std::vector<SegmentEdge> edges;  ///< by `from`, then `to`
};

/// Asks each of `backends`, which need not be those of the executable, about every operation.
/// Fails: kDataLoss for segments that do not fit the graph; what a backend's query reports.
Result<Explanation> explain(const package::Executable& executable, Backends backends);

}  // namespace sluice::compile
