// A grammar as an automaton over bytes: each rule is a network of nodes, and a rule is called by an
// edge of another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "grammar/rules/expression.h"

namespace sluice::grammar {

struct NodeTag;
using NodeId = Id<NodeTag>;

/// Immutable; safe across threads.
class Automaton {
 public:
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 18;
  static constexpr std::size_t kMaxEdges = std::size_t{1} << 20;

  struct ByteEdge {
    ByteRange bytes;
    NodeId target;
  };
  struct Call {
    NodeId start;   ///< of the rule
    NodeId target;  ///< where it goes on behind the rule
  };

  /// From each node that is left a way leads to the end of its rule.
  /// Fails: kInvalidArgument, naming the rule, for one that begins with itself; for a grammar that
  ///        no text fits, and for more than kMaxNodes or kMaxEdges.
  static Result<Automaton> build(const Rules& rules);

  NodeId root() const { return root_; }
  std::size_t num_nodes() const { return nodes_.size() - 1; }
  std::size_t num_edges() const { return bytes_.size() + jumps_.size() + calls_.size(); }
  std::size_t size_bytes() const;

  std::span<const ByteEdge> byte_edges(NodeId node) const {
    return part(bytes_, at(node).bytes, next(node).bytes);
  }
  /// Targets of edges that take no byte.
  std::span<const NodeId> jumps(NodeId node) const {
    return part(jumps_, at(node).jumps, next(node).jumps);
  }
  std::span<const Call> calls(NodeId node) const {
    return part(calls_, at(node).calls, next(node).calls);
  }
  /// Whether the rule may end here.
  bool is_final(NodeId node) const { return at(node).is_final; }
  /// Whether nothing but the end of the rule follows: a call that returns here needs no return.
  bool is_tail(NodeId node) const { return at(node).is_tail; }

  /// Bytes of one class have the same edges everywhere.
  std::size_t byte_class(std::uint8_t byte) const { return classes_[byte]; }
  std::size_t num_classes() const { return num_classes_; }

 private:
  friend class AutomatonBuilder;

  struct Node {
    std::uint32_t bytes = 0;  ///< begins of its edges, which end where the next node's begin
    std::uint32_t jumps = 0;
    std::uint32_t calls = 0;
    bool is_final = false;
    bool is_tail = false;
  };
  const Node& at(NodeId node) const { return nodes_[node.index()]; }
  const Node& next(NodeId node) const { return nodes_[node.index() + 1]; }
  template <typename T>
  static std::span<const T> part(const std::vector<T>& all, std::uint32_t begin,
                                 std::uint32_t end) {
    return std::span(all).subspan(begin, end - begin);
  }

  std::vector<Node> nodes_;  ///< and one behind the last
  std::vector<ByteEdge> bytes_;
  std::vector<NodeId> jumps_;
  std::vector<Call> calls_;
  std::array<std::uint8_t, 256> classes_ = {};
  std::size_t num_classes_ = 1;
  NodeId root_;
};

}  // namespace sluice::grammar
