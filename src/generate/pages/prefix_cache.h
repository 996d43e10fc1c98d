// Pages of texts by their tokens, so that texts with a common prefix share the pages of the prefix.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "generate/pages/page_pool.h"

namespace sluice::generate {

/// A tree: a node is a page that is full, below that of the tokens before it. Nodes lie in one
/// table, for a text has thousands, one below the other. Tokens are compared, not their hashes. Who
/// takes a page shares it, and writes behind it alone. A page stays, with nobody but the tree to
/// have it, until `give_back` takes it away, or `keep` in a full tree. Each account has a tree of
/// its own, so that two accounts never share a page. Safe across threads.
class PrefixCache {
 public:
  using Tokens = std::span<const std::int64_t>;

  /// Pages that the trees have at most, shared or not. The oldest that nobody shares go at once
  /// where there are more. No limit before the first call.
  void set_most_pages(std::int64_t most_pages);

  /// The pages, of `places` tokens each, of the longest known begin of `tokens` that leaves one of
  /// them to compute. `account`: a number below 2^63.
  std::vector<PagePool::Page> find(Tokens tokens, std::int64_t places, std::uint64_t account = 0);

  /// How far a text's pages lie in the tree: `keep` looks up what is behind them alone.
  struct Mark {
    std::uint64_t before = 0;   ///< what the last one's key has
    std::size_t num_pages = 0;  ///< 0: nothing is known
  };

  /// Tells that `pages` have the keys and values of `tokens`. Tokens behind the last full page are
  /// passed over, and pages of tokens that are known. A full tree gives the oldest pages that
  /// nobody shares back for new ones, and keeps no new ones if all are shared. `mark`: of this text
  /// and account, as the last call left it.
  void keep(Tokens tokens, std::span<const PagePool::Page> pages, std::int64_t places, Mark& mark,
            std::uint64_t account = 0);

  /// Gives the page that was used least recently of those that nobody shares back to its pool, and
  /// never one before another of its text. False if there is none. Passes over the leaves that
  /// texts share; all else takes a time that grows with the logarithm of the pages.
  bool give_back();

  std::size_t num_pages() const;

 private:
  /// A page of tokens behind those of the page `before`; a number of the account for those that
  /// texts begin with.
  struct Key {
    std::uint64_t before = 0;
    std::vector<std::int64_t> tokens;
    auto operator<=>(const Key&) const = default;
  };
  struct Node;
  using Leaves = std::set<std::pair<std::uint64_t, Node*>>;  ///< by `used_at`
  struct Node {
    std::uint64_t id = 0;  ///< from 1
    PagePool::Page page;
    const Key* key = nullptr;  ///< of the table
    Node* before = nullptr;    ///< null for the first of a text
    std::int64_t num_next = 0;
    std::uint64_t used_at = 0;  ///< of clock_; what is below it was perhaps used later
    Leaves::node_type leaf;     ///< its entry while it is no leaf: moving it takes no memory
  };

  // With the lock.
  Node* find_node(std::uint64_t before, Tokens page);
  Node& add_node(Key key, PagePool::Page page, Node* before);
  void use(Node& node);
  void become_leaf(Node& node);
  void stop_being_leaf(Node& node);
  PagePool::Page take_oldest(const Node* except);

  mutable std::mutex mutex_;  ///< guards the rest; pages are given back without it
  std::map<Key, Node> nodes_;
  Leaves leaves_;
  std::size_t most_pages_ = std::numeric_limits<std::size_t>::max();
  std::uint64_t clock_ = 0;  ///< calls so far
  std::uint64_t last_id_ = 0;
};

}  // namespace sluice::generate
