#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sluice::ops {

/// Finds nodes of tree ensembles by tree and number. Borrows the lists; used by one thread.
class NodeIndex {
 public:
  using Ints = std::span<const std::int64_t>;
  /// Requires: an entry of both lists per node.
  NodeIndex(Ints trees, Ints nodes);

  /// The node's place in the lists. Callers ask for the nodes of one tree after another. Most trees
  /// number theirs from 0 on: such a node needs no search.
  std::optional<std::size_t> find(std::int64_t tree, std::int64_t node) const;

  /// A place whose tree and number another place has too.
  std::optional<std::size_t> find_duplicate() const;

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;
  Key key(std::size_t place) const { return {trees_[place], nodes_[place]}; }
  /// Sorts trees in order whose nodes are numbered from 0 to their count; false for others.
  bool place_by_number();
  /// Where in `sorted_` it is.
  std::optional<std::size_t> search(const Key& wanted) const;

  Ints trees_, nodes_;
  std::vector<std::size_t> sorted_;
  mutable std::optional<std::size_t> start_;  ///< of the last tree, in `sorted_`
};

}  // namespace sluice::ops
