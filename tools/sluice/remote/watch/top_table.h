// A table that drops its least important columns where it is too wide.
#pragma once

#include <string>
#include <vector>

namespace sluice::tool {

struct TopColumn {
  std::string title;
  int importance = 0;      ///< columns with the lowest go first; equal ones from the right
  bool is_number = false;  ///< lined up on the right
};

struct TopRow {
  std::vector<std::string> cells;  ///< as many as there are columns
  bool is_bad = false;
};

/// The title and a line per row, none wider than `width`; the most important column is cut if need
/// be, with "…". Cells are made printable.
std::vector<std::string> draw_table(const std::vector<TopColumn>& columns,
                                    const std::vector<TopRow>& rows, std::size_t width);

/// The first `width` characters of `text`; "…" replaces the last one if the text is longer.
std::string cut_to(const std::string& text, std::size_t width);

}  // namespace sluice::tool
