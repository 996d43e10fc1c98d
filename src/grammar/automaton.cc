#include "grammar/automaton.h"

#include <algorithm>
#include <utility>

#include "grammar/network.h"

namespace sluice::grammar {

class AutomatonBuilder {
 public:
  AutomatonBuilder(const Rules& rules, Network network)
      : rules_(rules), network_(std::move(network)) {}

  Result<Automaton> build() {
    reaches_end_ = network_.reaches_end(false);
    made_.root_ = start_of(rules_.root);
    if (!reaches_end_[made_.root_.index()]) {
      return invalid_argument("no text fits the grammar: its rule \"{}\" never comes to an end",
                              rules_[rules_.root].name);
    }
    SLUICE_TRY(add_edges());
    SLUICE_TRY(check_left_recursion());
    mark_tails();
    find_classes();
    return std::move(made_);
  }

 private:
  NodeId start_of(RuleId rule) const { return network_.starts[rule.index()]; }

  /// By counting: edges of a node lie together, in the order in which they were written.
  Status add_edges() {
    std::vector<Network::Edge> kept;
    for (const Network::Edge& edge : network_.edges) {
      const bool leads_on =
          reaches_end_[edge.target.index()] &&
          (edge.kind != Network::Kind::kCall || reaches_end_[start_of(edge.rule).index()]);
      if (leads_on) kept.push_back(edge);
    }
    std::ranges::stable_sort(kept, {}, &Network::Edge::from);
    auto edge = kept.begin();
    for (std::size_t i = 0; i <= network_.num_nodes; ++i) {
      Automaton::Node node;
      node.bytes = static_cast<std::uint32_t>(made_.bytes_.size());
      node.jumps = static_cast<std::uint32_t>(made_.jumps_.size());
      node.calls = static_cast<std::uint32_t>(made_.calls_.size());
      node.is_final = i < network_.num_nodes && network_.is_final[i];
      made_.nodes_.push_back(node);
      for (; edge != kept.end() && edge->from.index() == i; ++edge) add_edge(*edge);
    }
    return ok_status();
  }

  void add_edge(const Network::Edge& edge) {
    switch (edge.kind) {
      case Network::Kind::kBytes: made_.bytes_.push_back({edge.bytes, edge.target}); break;
      case Network::Kind::kJump: made_.jumps_.push_back(edge.target); break;
      case Network::Kind::kCall: made_.calls_.push_back({start_of(edge.rule), edge.target}); break;
    }
  }

  /// Rules that a rule may call before it takes a byte must not lead back to it: such a call could
  /// go on for ever. Depth first, without recursion.
  Status check_left_recursion() {
    const auto is_empty = network_.reaches_end(true);
    enum class Color : std::uint8_t { kNew, kOpen, kDone };
    std::vector<Color> colors(network_.starts.size(), Color::kNew);
    std::vector<std::size_t> rule_at(made_.num_nodes(), 0);
    for (std::size_t i = 0; i < network_.starts.size(); ++i) {
      rule_at[network_.starts[i].index()] = i;
    }
    struct Visit {
      std::size_t rule;
      std::vector<std::size_t> calls;
    };
    std::vector<Visit> open;
    const auto enter = [&](std::size_t rule) {
      colors[rule] = Color::kOpen;
      open.push_back({rule, first_calls(network_.starts[rule], is_empty, rule_at)});
    };
    for (std::size_t rule = 0; rule < colors.size(); ++rule) {
      if (colors[rule] == Color::kNew) enter(rule);
      while (!open.empty()) {
        if (open.back().calls.empty()) {
          colors[open.back().rule] = Color::kDone;
          open.pop_back();
          continue;
        }
        const std::size_t called = open.back().calls.back();
        open.back().calls.pop_back();
        if (colors[called] == Color::kOpen) {
          return invalid_argument(
              "the rule \"{}\" of the grammar begins with itself; put a text before that",
              rules_.all[called].name);
        }
        if (colors[called] == Color::kNew) enter(called);
      }
    }
    return ok_status();
  }

  /// Rules that may be called from `start` before a byte.
  std::vector<std::size_t> first_calls(NodeId start, const std::vector<bool>& is_empty,
                                       const std::vector<std::size_t>& rule_at) {
    std::vector<std::size_t> found;
    std::vector<NodeId> fresh = {start};
    seen_.resize(made_.num_nodes(), false);
    seen_[start.index()] = true;
    const auto add = [&](NodeId node) {
      if (seen_[node.index()]) return;
      seen_[node.index()] = true;
      fresh.push_back(node);
    };
    while (!fresh.empty()) {
      const NodeId node = fresh.back();
      fresh.pop_back();
      for (const NodeId target : made_.jumps(node)) add(target);
      for (const Automaton::Call& call : made_.calls(node)) {
        found.push_back(rule_at[call.start.index()]);
        if (is_empty[call.start.index()]) add(call.target);
      }
    }
    return found;
  }

  void mark_tails() {
    constexpr int kMostJumps = 16;
    for (std::size_t i = 0; i < made_.num_nodes(); ++i) {
      NodeId node(i);
      for (int jumps = 0; jumps < kMostJumps; ++jumps) {
        if (!made_.byte_edges(node).empty() || !made_.calls(node).empty()) break;
        const auto targets = made_.jumps(node);
        if (targets.empty()) made_.nodes_[i].is_tail = made_.is_final(node);
        if (targets.size() != 1 || made_.is_final(node)) break;
        node = targets.front();
      }
    }
  }

  void find_classes() {
    std::array<bool, 257> begins = {};
    for (const Automaton::ByteEdge& edge : made_.bytes_) {
      begins[edge.bytes.first] = true;
      begins[edge.bytes.last + 1U] = true;
    }
    std::size_t last = 0;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      if (byte > 0 && begins[byte]) ++last;
      made_.classes_[byte] = static_cast<std::uint8_t>(last);
    }
    made_.num_classes_ = last + 1;
  }

  const Rules& rules_;
  const Network network_;
  std::vector<bool> reaches_end_;
  std::vector<bool> seen_;  ///< nodes of rules lie apart, so that one table serves all
  Automaton made_;
};

std::size_t Automaton::size_bytes() const {
  return nodes_.size() * sizeof(Node) + bytes_.size() * sizeof(ByteEdge) +
         jumps_.size() * sizeof(NodeId) + calls_.size() * sizeof(Call);
}

Result<Automaton> Automaton::build(const Rules& rules) {
  Network network = SLUICE_TRY(Network::write(rules));
  return AutomatonBuilder(rules, std::move(network)).build();
}

}  // namespace sluice::grammar
