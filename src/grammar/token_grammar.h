// Which tokens of a vocabulary may come next in texts of a grammar.
//
// A mask is made by a walk through the vocabulary's trie beside the automaton. A walk through a
// string of any characters passes nearly the whole trie, and strings are at many places of a
// schema. So the long walks are made once for each node of the automaton, without its stack: they
// leave open those tokens in which the node's rule ends, and only these are walked for each stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/automaton.h"
#include "grammar/states.h"
#include "grammar/token_trie.h"

namespace sluice::grammar {

struct Mask {
  std::vector<std::uint64_t> bits;  ///< of tokens: bit id % 64 of word id / 64
  bool is_empty = true;             ///< no token may come
  bool may_end = false;             ///< the text may end here
};

/// What all texts of a grammar share. Safe across threads. States and masks that were made are kept
/// up to a limit of bytes; then all are made anew.
class TokenGrammar {
 public:
  static constexpr std::size_t kMaxKeptBytes = std::size_t{16} << 20U;

  TokenGrammar(Automaton automaton, std::shared_ptr<const TokenTrie> trie,
               std::size_t max_kept_bytes = kMaxKeptBytes);
  TokenGrammar(const TokenGrammar&) = delete;
  TokenGrammar& operator=(const TokenGrammar&) = delete;

  std::size_t num_nodes() const { return automaton_.num_nodes(); }
  /// Bytes of the automaton alone.
  std::size_t automaton_bytes() const { return automaton_.size_bytes(); }
  /// Bytes of states and masks that are kept.
  std::size_t kept_bytes() const;

 private:
  friend class Matcher;

  /// A text's place. A text finds its state again by its bytes where states were made anew.
  struct Position {
    std::string text;
    StateId state;
    std::uint64_t epoch = 0;  ///< of the state
  };
  /// The tokens of a node without its stack.
  struct NodeMask {
    std::vector<std::uint64_t> bits;
    std::vector<std::uint32_t> ends;  ///< nodes of the trie behind which the rule's caller goes on
  };
  /// A walk's begin in the trie: a node of it, or all.
  struct Stretch {
    std::size_t begin;
    std::size_t end;
    std::size_t depth;
  };

  /// Fails: kInvalidArgument for a token that may not come, and the text stays; as States::at.
  Status accept(Position& position, std::int64_t token);
  Result<std::shared_ptr<const Mask>> mask(Position& position);
  bool is_over(const Position& position) const;

  void renew();
  Status check() const;
  Status find(Position& position);
  Result<std::shared_ptr<const Mask>> make_mask(StateId state);
  Result<bool> walk_places(StateId state, std::vector<std::uint64_t>& bits);
  Result<std::shared_ptr<const NodeMask>> node_mask(NodeId node);
  template <typename Visit>
  bool walk(const Stretch& stretch, StateId state, std::vector<std::uint64_t>& bits,
            std::size_t most_nodes, const Visit& visit);
  Stretch all() const { return {0, trie_->num_nodes(), 0}; }
  Stretch behind(std::uint32_t node) const;
  std::vector<std::uint64_t> no_bits() const;

  const Automaton automaton_;
  const std::shared_ptr<const TokenTrie> trie_;
  const std::size_t max_kept_bytes_;

  mutable std::mutex mutex_;  ///< guards the rest
  std::uint64_t epoch_ = 0;
  std::unique_ptr<States> states_;
  std::unordered_map<StateId, std::shared_ptr<const Mask>> masks_;
  std::unordered_map<NodeId, std::shared_ptr<const NodeMask>> node_masks_;
  std::size_t masks_bytes_ = 0;
  std::size_t num_steps_ = 0;  ///< of the walks for one mask
  std::vector<StateId> path_;  ///< of a walk: the state at each depth
};

/// A text of a grammar in the making. Used by one thread at a time.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<TokenGrammar> grammar) : grammar_(std::move(grammar)) {}

  /// Tokens that may come next. Fails: kInvalidArgument for a grammar that is too ambiguous: the
  /// work and the memory for one mask are bounded.
  Result<std::shared_ptr<const Mask>> mask() { return grammar_->mask(position_); }
  /// Fails: kInvalidArgument for a token that may not come; as `mask`.
  Status accept(std::int64_t token) { return grammar_->accept(position_, token); }
  /// Whether the text may end, and nothing may follow.
  bool is_over() const { return grammar_->is_over(position_); }

 private:
  std::shared_ptr<TokenGrammar> grammar_;
  TokenGrammar::Position position_;
};

}  // namespace sluice::grammar
