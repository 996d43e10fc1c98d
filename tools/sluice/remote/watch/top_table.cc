#include "sluice/remote/watch/top_table.h"

#include <algorithm>
#include <numeric>

#include "sluice/remote/remote.h"
#include "sluice/remote/watch/top_frame.h"

namespace sluice::tool {
namespace {

constexpr std::size_t kGap = 2;

// Bytes 10xxxxxx go on in UTF-8, all others start a character. Each is taken as one column wide.
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::string padded(const std::string& text, std::size_t width, bool is_right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return is_right ? space + text : text + space;
}

/// Indices of the columns that fit, in their order.
std::vector<std::size_t> choose(const std::vector<TopColumn>& columns,
                                const std::vector<std::size_t>& widths, std::size_t width) {
  std::vector<std::size_t> kept(columns.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t i : kept) sum += widths[i] + kGap;
    return sum - kGap;
  };
  // Drops the least important column until the rest fits; of equals the last one. One always stays.
  while (kept.size() > 1 && total() > width) {
    auto least = kept.begin();
    for (auto it = kept.begin(); it != kept.end(); ++it) {
      if (columns[*it].importance <= columns[*least].importance) least = it;
    }
    kept.erase(least);
  }
  return kept;
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string cut_to(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (starts_character(text[end]) && seen++ + 1 == width) break;
  }
  return text.substr(0, end) + "…";
}

std::vector<std::string> draw_table(const std::vector<TopColumn>& columns,
                                    const std::vector<TopRow>& rows, std::size_t width) {
  std::vector<std::vector<std::string>> texts(1);
  for (const TopColumn& column : columns) texts[0].push_back(column.title);
  for (const TopRow& row : rows) {
    texts.emplace_back();
    for (const std::string& cell : row.cells) texts.back().push_back(printable(cell));
  }
  std::vector<std::size_t> widths(columns.size());
  for (const auto& row : texts) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  const std::vector<std::size_t> kept = choose(columns, widths, width);
  std::vector<std::string> lines;
  for (const auto& row : texts) {
    std::string line;
    for (const std::size_t i : kept) {
      if (i != kept.front()) line.append(kGap, ' ');
      line += padded(row[i], widths[i], columns[i].is_number);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(cut_to(line, width));
  }
  return lines;
}

}  // namespace sluice::tool
