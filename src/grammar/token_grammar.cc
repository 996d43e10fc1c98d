#include "grammar/token_grammar.h"

#include <algorithm>
#include <limits>

namespace sluice::grammar {
namespace {

/// Nodes of the trie that a walk with all stacks passes: beyond, nodes are walked without theirs.
constexpr std::size_t kShortWalk = 8192;
/// Places of a state that are walked without their stacks. A mask of each is kept.
constexpr std::size_t kMostNodes = 16;
/// Nodes of the trie that all walks for one mask pass: kMostNodes walks through a million.
constexpr std::size_t kMaxWalked = std::size_t{1} << 24;
constexpr std::size_t kAnyWalk = std::numeric_limits<std::size_t>::max();

constexpr auto kVisitNothing = [](std::size_t /*node*/, StateId /*state*/) {};

}  // namespace

TokenGrammar::TokenGrammar(Automaton automaton, std::shared_ptr<const TokenTrie> trie,
                           std::size_t max_kept_bytes)
    : automaton_(std::move(automaton)), trie_(std::move(trie)), max_kept_bytes_(max_kept_bytes) {
  path_.resize(TokenTrie::kMaxTokenBytes + 1);
  renew();
}

void TokenGrammar::renew() {
  ++epoch_;
  states_ = std::make_unique<States>(automaton_);
  masks_.clear();
  node_masks_.clear();
  masks_bytes_ = 0;
}

Status TokenGrammar::check() const {
  SLUICE_TRY(states_->check());
  if (num_steps_ <= kMaxWalked) return ok_status();
  return invalid_argument(
      "the grammar is too large or too ambiguous: its tokens take more than {} steps", kMaxWalked);
}

std::size_t TokenGrammar::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return states_->size_bytes() + masks_bytes_;
}

std::vector<std::uint64_t> TokenGrammar::no_bits() const {
  return std::vector<std::uint64_t>((trie_->end_id() + 63) / 64);
}

TokenGrammar::Stretch TokenGrammar::behind(std::uint32_t node) const {
  return {node + std::size_t{1}, trie_->node(node).end, trie_->node(node).depth};
}

/// The position's state among those of now. Begins the budget of a call: a text that has to be
/// walked again is a part of it. States that ran out of it for one text know no others.
Status TokenGrammar::find(Position& position) {
  const bool is_large = states_->size_bytes() + masks_bytes_ > max_kept_bytes_;
  if (is_large || !states_->check().is_ok()) renew();
  states_->renew_budget();
  num_steps_ = 0;
  if (position.epoch == epoch_) return ok_status();
  StateId state = SLUICE_TRY(states_->at(automaton_.root(), States::kBottom));
  for (const char byte : position.text) {
    state = states_->next(state, static_cast<std::uint8_t>(byte));
  }
  SLUICE_TRY(states_->check());
  position.state = state;
  position.epoch = epoch_;
  return ok_status();
}

Status TokenGrammar::accept(Position& position, std::int64_t token) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(find(position));
  const std::string_view bytes = trie_->bytes(token);
  StateId state = bytes.empty() ? States::kDead : position.state;
  for (const char byte : bytes) state = states_->next(state, static_cast<std::uint8_t>(byte));
  SLUICE_TRY(states_->check());
  if (state == States::kDead) {
    return invalid_argument("the token {} does not go on with the grammar", token);
  }
  position.text += bytes;
  position.state = state;
  return ok_status();
}

bool TokenGrammar::is_over(const Position& position) const {
  const std::lock_guard lock(mutex_);
  // A position of an earlier epoch gives false; then the empty mask says it.
  return position.epoch == epoch_ && states_->may_end(position.state) &&
         states_->places(position.state).empty();
}

Result<std::shared_ptr<const Mask>> TokenGrammar::mask(Position& position) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(find(position));
  const auto found = masks_.find(position.state);
  if (found != masks_.end()) return found->second;
  auto mask = SLUICE_TRY(make_mask(position.state));
  masks_.emplace(position.state, mask);
  masks_bytes_ += sizeof(Mask) + mask->bits.size() * sizeof(std::uint64_t);
  return mask;
}

Result<std::shared_ptr<const Mask>> TokenGrammar::make_mask(StateId state) {
  auto mask = std::make_shared<Mask>();
  mask->bits = no_bits();
  const bool was_short = walk(all(), state, mask->bits, kShortWalk, kVisitNothing);
  if (!was_short) {
    std::ranges::fill(mask->bits, 0);
    const bool has_few = SLUICE_TRY(walk_places(state, mask->bits));
    if (!has_few) walk(all(), state, mask->bits, kAnyWalk, kVisitNothing);
  }
  SLUICE_TRY(check());
  mask->is_empty = std::ranges::all_of(mask->bits, [](std::uint64_t word) { return word == 0; });
  mask->may_end = states_->may_end(state);
  return std::shared_ptr<const Mask>(std::move(mask));
}

/// By the masks of the state's nodes. False for a state with many.
Result<bool> TokenGrammar::walk_places(StateId state, std::vector<std::uint64_t>& bits) {
  const auto found = states_->places(state);
  if (found.size() > kMostNodes) return false;
  const std::vector<States::Place> places(found.begin(), found.end());
  for (const States::Place& place : places) {
    const auto of_node = SLUICE_TRY(node_mask(place.node));
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= of_node->bits[i];
    if (place.stack == States::kBottom) continue;
    const StateId after = SLUICE_TRY(states_->after(place.stack));
    for (const std::uint32_t node : of_node->ends) {
      walk(behind(node), after, bits, kAnyWalk, kVisitNothing);
    }
  }
  return true;
}

Result<std::shared_ptr<const TokenGrammar::NodeMask>> TokenGrammar::node_mask(NodeId node) {
  const auto found = node_masks_.find(node);
  if (found != node_masks_.end()) return found->second;
  auto mask = std::make_shared<NodeMask>();
  mask->bits = no_bits();
  const StateId start = SLUICE_TRY(states_->at(node, States::kUnknown));
  walk(all(), start, mask->bits, kAnyWalk, [&](std::size_t at, StateId state) {
    const bool has_more = trie_->node(at).end > at + 1;
    if (has_more && states_->is_beyond(state)) mask->ends.push_back(static_cast<std::uint32_t>(at));
  });
  SLUICE_TRY(check());
  masks_bytes_ += sizeof(NodeMask) + mask->bits.size() * sizeof(std::uint64_t) +
                  mask->ends.size() * sizeof(std::uint32_t);
  node_masks_.emplace(node, mask);
  return std::shared_ptr<const NodeMask>(std::move(mask));
}

/// Sets the bits of the stretch's tokens that the state goes on with, and visits the nodes on their
/// ways. False, and not done, for more than `most_nodes`, or where `check` fails.
template <typename Visit>
bool TokenGrammar::walk(const Stretch& stretch, StateId state, std::vector<std::uint64_t>& bits,
                        std::size_t most_nodes, const Visit& visit) {
  std::size_t num_visited = 0;
  path_[stretch.depth] = state;
  for (std::size_t i = stretch.begin; i < stretch.end;) {
    if (++num_steps_ > kMaxWalked) return false;
    const TokenTrie::Node& node = trie_->node(i);
    const StateId next = states_->next(path_[node.depth - 1U], node.byte);
    if (next == States::kDead) {
      i = node.end;
      continue;
    }
    if (++num_visited > most_nodes) return false;
    path_[node.depth] = next;
    for (const std::int32_t token : trie_->tokens(i)) {
      const auto id = static_cast<std::uint32_t>(token);
      bits[id / 64] |= std::uint64_t{1} << (id % 64);
    }
    visit(i, next);
    ++i;
  }
  return true;
}

}  // namespace sluice::grammar
