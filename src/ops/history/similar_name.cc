#include "ops/history/similar_name.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <vector>

namespace sluice::ops {
namespace {

/// Names come from files: longer ones than any operator's are not compared.
constexpr std::size_t kMaxLength = 64;
constexpr std::size_t kMinBeginning = 3;

std::string folded(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

/// Letters to insert, remove or replace (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

bool is_beginning(std::string_view a, std::string_view b) {
  return std::min(a.size(), b.size()) >= kMinBeginning && (a.starts_with(b) || b.starts_with(a));
}

/// 0 is the best; nothing similar has the largest number.
std::size_t difference(std::string_view a, std::string_view b) {
  const std::size_t letters = distance(a, b);
  const bool is_close = letters <= std::max<std::size_t>(1, std::min(a.size(), b.size()) / 3);
  if (is_close) return letters;
  return is_beginning(a, b) ? kMaxLength : std::numeric_limits<std::size_t>::max();
}

}  // namespace

std::string_view similar_name(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > kMaxLength) return "";
  const std::string wanted = folded(name);
  std::string_view best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string_view candidate : candidates) {
    const std::size_t found = difference(wanted, folded(candidate));
    if (found < least) {
      least = found;
      best = candidate;
    }
  }
  return best;
}

}  // namespace sluice::ops
