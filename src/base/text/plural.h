// Counts in lists and messages.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace sluice {

/// The noun as it stands after a number: "core" for one; "cores", "copies" or "switches" for
/// others.
std::string plural(bool is_one, std::string_view noun);

/// "1 core", "2 cores", "0 copies".
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  return fmt::format("{} {}", count, plural(count == 1, noun));
}

}  // namespace sluice
