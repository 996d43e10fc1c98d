// Nobody adds an edge into a node that it did not make itself. So the alternatives of a choice may
// begin at one node, and a loop has a node of its own.
#include "grammar/network.h"

#include <span>
#include <utility>

namespace sluice::grammar {
namespace {

/// Visits of expressions: a repetition of parts without a text makes no nodes.
constexpr std::size_t kMaxSteps = std::size_t{1} << 23;

class Writer {
 public:
  explicit Writer(const Rules& rules) : rules_(rules) {}

  Result<Network> write() {
    for (const Rule& rule : rules_.all) {
      const NodeId start = add_node();
      network_.starts.push_back(start);
      if (rule.is_inlined) continue;
      const NodeId end = write(rule.expression, start);
      if (is_full()) {
        return invalid_argument("the grammar is too large: it has more than {} nodes or {} edges",
                                Automaton::kMaxNodes, Automaton::kMaxEdges);
      }
      network_.is_final[end.index()] = true;
    }
    return std::move(network_);
  }

 private:
  bool is_full() const {
    return network_.num_nodes > Automaton::kMaxNodes ||
           network_.edges.size() > Automaton::kMaxEdges || num_steps_ > kMaxSteps;
  }
  NodeId add_node() {
    network_.is_final.push_back(false);
    return NodeId(network_.num_nodes++);
  }
  void jump(NodeId from, NodeId to) { network_.edges.push_back({.from = from, .target = to}); }
  void bytes(NodeId from, NodeId to, ByteRange range) {
    network_.edges.push_back(
        {.from = from, .target = to, .kind = Network::Kind::kBytes, .bytes = range});
  }

  /// The end of what was written.
  NodeId write(const Expression& expression, NodeId from) {
    ++num_steps_;
    if (is_full()) return from;
    switch (expression.kind) {
      case Expression::Kind::kText: return write_text(expression.text, from);
      case Expression::Kind::kCharacter: return write_characters(expression.characters, from);
      case Expression::Kind::kSequence: break;
      case Expression::Kind::kChoice: return write_choice(expression.parts, from);
      case Expression::Kind::kRepeat: return write_repeat(expression, from);
      case Expression::Kind::kRule: return write_call(expression.rule, from);
    }
    for (const Expression& part : expression.parts) from = write(part, from);
    return from;
  }

  NodeId write_text(const std::string& text, NodeId from) {
    for (const char c : text) {
      const NodeId to = add_node();
      bytes(from, to, {static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c)});
      from = to;
    }
    return from;
  }

  NodeId write_characters(const CharacterSet& characters, NodeId from) {
    const NodeId to = add_node();
    std::map<std::vector<ByteRange>, NodeId> rests;  // what is left to a character, once
    for (const CharacterRange& range : characters.ranges()) {
      for_each_utf8_sequence(range, [&](std::span<const ByteRange> sequence) {
        NodeId at = to;
        for (std::size_t i = sequence.size(); i-- > 1;) {
          const std::vector<ByteRange> rest(sequence.begin() + static_cast<std::ptrdiff_t>(i),
                                            sequence.end());
          NodeId& node = rests[rest];
          if (!node.is_valid()) {
            node = add_node();
            bytes(node, at, sequence[i]);
          }
          at = node;
        }
        bytes(from, at, sequence[0]);
      });
    }
    return to;
  }

  using Children = std::map<std::pair<NodeId, char>, NodeId>;

  /// Texts share the nodes of what they begin with alike: a text may begin as thousands of an enum.
  NodeId write_shared(const std::string& text, NodeId from, Children& children) {
    num_steps_ += text.size();
    for (const char c : text) {
      NodeId& to = children[{from, c}];
      if (!to.is_valid()) to = write_text(std::string(1, c), from);
      from = to;
    }
    return from;
  }

  NodeId write_choice(const std::vector<Expression>& parts, NodeId from) {
    const NodeId to = add_node();
    Children children;
    for (const Expression& part : parts) {
      const bool is_text = part.kind == Expression::Kind::kText;
      jump(is_text ? write_shared(part.text, from, children) : write(part, from), to);
      if (is_full()) break;
    }
    return to;
  }

  NodeId write_repeat(const Expression& expression, NodeId from) {
    const Expression& part = expression.parts.front();
    for (std::int64_t i = 0; i < expression.least && !is_full(); ++i) {
      const NodeId to = write(part, from);
      if (to == from) break;  // the part is empty
      from = to;
    }
    if (expression.most == expression.least) return from;
    if (!expression.most) {
      const NodeId loop = add_node();
      jump(from, loop);
      jump(write(part, loop), loop);
      return loop;
    }
    const NodeId end = add_node();
    jump(from, end);
    for (std::int64_t i = expression.least; i < *expression.most && !is_full(); ++i) {
      const NodeId to = write(part, from);
      if (to == from) break;
      jump(to, end);
      from = to;
    }
    return end;
  }

  NodeId write_call(RuleId rule, NodeId from) {
    if (rules_[rule].is_inlined) return write(rules_[rule].expression, from);
    const NodeId to = add_node();
    network_.edges.push_back(
        {.from = from, .target = to, .kind = Network::Kind::kCall, .rule = rule});
    return to;
  }

  const Rules& rules_;
  Network network_;
  std::size_t num_steps_ = 0;
};

}  // namespace

Result<Network> Network::write(const Rules& rules) { return Writer(rules).write(); }

/// From the ends backwards. A call is passed when both its rule's start and its target are known.
std::vector<bool> Network::reaches_end(bool without_bytes) const {
  std::vector<std::vector<const Edge*>> waiting(num_nodes);
  for (const Edge& edge : edges) {
    if (without_bytes && edge.kind == Kind::kBytes) continue;
    waiting[edge.target.index()].push_back(&edge);
    if (edge.kind == Kind::kCall) waiting[starts[edge.rule.index()].index()].push_back(&edge);
  }
  std::vector<bool> reaches(num_nodes, false);
  std::vector<NodeId> fresh;
  const auto mark = [&](NodeId node) {
    if (reaches[node.index()]) return;
    reaches[node.index()] = true;
    fresh.push_back(node);
  };
  for (std::size_t i = 0; i < num_nodes; ++i) {
    if (is_final[i]) mark(NodeId(i));
  }
  while (!fresh.empty()) {
    const NodeId node = fresh.back();
    fresh.pop_back();
    for (const Edge* edge : waiting[node.index()]) {
      const bool passes =
          reaches[edge->target.index()] &&
          (edge->kind != Kind::kCall || reaches[starts[edge->rule.index()].index()]);
      if (passes) mark(edge->from);
    }
  }
  return reaches;
}

}  // namespace sluice::grammar
