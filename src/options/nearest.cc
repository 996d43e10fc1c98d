#include "options/nearest.h"

#include <algorithm>

namespace sluice::options {
namespace {

/// Optimal string alignment distance: Damerau-Levenshtein without edits inside a swapped pair.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) edits[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) edits[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> find_nearest(std::string_view typed,
                                        const std::vector<std::string>& words) {
  constexpr std::size_t kMaxLength = 64;  // the table grows with the product of the lengths
  if (typed.size() > kMaxLength) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t least = std::max<std::size_t>(typed.size() / 3, 1) + 1;
  for (const std::string& word : words) {
    const std::size_t edits = distance(typed, word);
    if (edits >= least) continue;
    least = edits;
    nearest = word;
  }
  return nearest;
}

}  // namespace sluice::options
