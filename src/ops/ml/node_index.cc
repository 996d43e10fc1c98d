#include "ops/ml/node_index.h"

#include <algorithm>

namespace sluice::ops {

NodeIndex::NodeIndex(Ints trees, Ints nodes) : trees_(trees), nodes_(nodes), sorted_(trees.size()) {
  if (place_by_number()) return;
  for (std::size_t i = 0; i < sorted_.size(); ++i) sorted_[i] = i;
  std::sort(sorted_.begin(), sorted_.end(),
            [this](std::size_t a, std::size_t b) { return key(a) < key(b); });
}

std::optional<std::size_t> NodeIndex::find(std::int64_t tree, std::int64_t node) const {
  const std::pair wanted(tree, node);
  // Node 0 marks the tree's start. A tree without one is searched for every node.
  if (!start_ || trees_[sorted_[*start_]] != tree) start_ = search({tree, 0});
  const auto left = static_cast<std::int64_t>(sorted_.size() - start_.value_or(0));
  if (start_ && node >= 0 && node < left) {
    // A tree with gaps puts another node here, so the key decides.
    const std::size_t guess = sorted_[*start_ + static_cast<std::size_t>(node)];
    if (key(guess) == wanted) return guess;
  }
  const auto at = search(wanted);
  if (!at) return std::nullopt;
  return sorted_[*at];
}

std::optional<std::size_t> NodeIndex::find_duplicate() const {
  for (std::size_t i = 1; i < sorted_.size(); ++i) {
    if (key(sorted_[i]) == key(sorted_[i - 1])) return sorted_[i];
  }
  return std::nullopt;
}

bool NodeIndex::place_by_number() {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::fill(sorted_.begin(), sorted_.end(), kNone);
  std::size_t end = 0;
  for (std::size_t start = 0; start < trees_.size(); start = end) {
    while (end < trees_.size() && trees_[end] == trees_[start]) ++end;
    // Trees must rise, for `search` halves the list.
    if (start > 0 && trees_[start] < trees_[start - 1]) return false;
    // A tree has as many places as nodes. With no number outside and none twice, none is missing.
    for (std::size_t i = start; i < end; ++i) {
      const std::int64_t number = nodes_[i];
      if (number < 0 || number >= static_cast<std::int64_t>(end - start)) return false;
      std::size_t& place = sorted_[start + static_cast<std::size_t>(number)];
      if (place != kNone) return false;
      place = i;
    }
  }
  return true;
}

std::optional<std::size_t> NodeIndex::search(const Key& wanted) const {
  const auto at =
      std::lower_bound(sorted_.begin(), sorted_.end(), wanted,
                       [this](std::size_t place, const Key& k) { return key(place) < k; });
  if (at == sorted_.end() || key(*at) != wanted) return std::nullopt;
  return static_cast<std::size_t>(at - sorted_.begin());
}

}  // namespace sluice::ops
