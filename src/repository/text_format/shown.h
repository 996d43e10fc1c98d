// What messages about a configuration show of its texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace sluice::repository {

/// The start of a text, which may be long and hold any bytes.
inline std::string shown(std::string_view text) {
  constexpr std::size_t kMaxShownBytes = 64;
  return valid_utf8(text.substr(0, kMaxShownBytes));
}

}  // namespace sluice::repository
