#include "plan/neighbours.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/log/work_counts.h"

namespace sluice::plan {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// False beyond `max_pairs`.
bool find_pairs_by_steps(std::span<const Lifetime> lifetimes, std::size_t max_pairs, Pairs& pairs) {
  std::vector<std::uint32_t> by_start(lifetimes.size());
  std::iota(by_start.begin(), by_start.end(), 0U);
  std::ranges::stable_sort(by_start, {}, [&](std::uint32_t i) { return lifetimes[i].first_step; });
  std::vector<std::uint32_t> alive;
  for (const std::uint32_t i : by_start) {
    work_counts.visits += alive.size() + 1;
    std::erase_if(alive, [&](std::uint32_t other) {
      return lifetimes[other].last_step < lifetimes[i].first_step;
    });
    if (pairs.size() + alive.size() > max_pairs) return false;
    for (const std::uint32_t other : alive) pairs.emplace_back(i, other);
    alive.push_back(i);
  }
  return true;
}

}  // namespace

Neighbours::Neighbours(std::size_t num_pieces, std::span<const Pair> pairs)
    : begin_(num_pieces + 1, 0), others_(2 * pairs.size()) {
  for (const auto& [a, b] : pairs) {
    ++begin_[a + 1];
    ++begin_[b + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (const auto& [a, b] : pairs) {
    others_[next[a]++] = b;
    others_[next[b]++] = a;
  }
  for (std::size_t i = 0; i < num_pieces; ++i) {
    std::sort(others_.begin() + static_cast<std::ptrdiff_t>(begin_[i]),
              others_.begin() + static_cast<std::ptrdiff_t>(begin_[i + 1]));
  }
}

std::optional<Neighbours> Neighbours::find(std::span<const Lifetime> lifetimes,
                                           const Conflicts* conflicts, std::size_t max_pairs) {
  Pairs pairs;
  if (conflicts == nullptr) {
    if (!find_pairs_by_steps(lifetimes, max_pairs, pairs)) return std::nullopt;
    return Neighbours(lifetimes.size(), pairs);
  }
  for (std::size_t a = 0; a < lifetimes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (conflicts->are_in_conflict(a, b)) pairs.emplace_back(a, b);
    }
  }
  return Neighbours(lifetimes.size(), pairs);
}

}  // namespace sluice::plan
