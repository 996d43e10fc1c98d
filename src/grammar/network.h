// The nodes and edges of rules as they are written, before an automaton has those that count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "grammar/automaton.h"
#include "grammar/rules/expression.h"

namespace sluice::grammar {

struct Network {
  enum class Kind : std::uint8_t { kBytes, kJump, kCall };
  struct Edge {
    NodeId from;
    NodeId target;
    Kind kind = Kind::kJump;
    ByteRange bytes = {0, 0};  ///< kBytes
    RuleId rule = {};          ///< kCall
  };

  std::size_t num_nodes = 0;
  std::vector<Edge> edges;
  std::vector<NodeId> starts;  ///< of each rule
  std::vector<bool> is_final;

  /// Fails: kInvalidArgument for more than Automaton::kMaxNodes or kMaxEdges.
  static Result<Network> write(const Rules& rules);
  /// Nodes from which the rule's end is reached: by any edges, or `without_bytes` by those alone
  /// that take none.
  std::vector<bool> reaches_end(bool without_bytes) const;
};

}  // namespace sluice::grammar
