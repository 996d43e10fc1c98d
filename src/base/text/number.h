// Numbers that texts hold.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace sluice {

/// The number that the text is from its first character to its last, without spaces or a plus sign;
/// nullopt for another text, and for a number without a place in its type. `form`: the base of a
/// whole number, or the std::chars_format of another one.
template <typename Number, typename... Form>
std::optional<Number> to_number(std::string_view text, Form... form) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, form...);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace sluice
