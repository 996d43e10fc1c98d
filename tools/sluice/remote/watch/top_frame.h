// What `sluice top` shows, as lines of text: no terminal, no escape codes.
#pragma once

#include <string>
#include <vector>

#include "activity/activity.h"

namespace sluice::tool {

struct FrameLine {
  enum class Style { kPlain, kTitle, kBad };
  Style style = Style::kPlain;
  std::string text;  ///< UTF-8; at most as many characters as the frame is wide
};

/// The whole view: the daemon, its devices with a bar per core, groups, models, sessions, and what
/// is wrong. If space is short, the least important columns are omitted, then rows, with a line
/// that gives their number. Requires: width >= 20, height >= 10, in characters.
std::vector<FrameLine> draw_frame(const std::string& address, const activity::Snapshot& now,
                                  const activity::Activity& activity, std::size_t width,
                                  std::size_t height);

/// Characters of UTF-8 text, each counted as one column.
std::size_t width_of(std::string_view text);

}  // namespace sluice::tool
