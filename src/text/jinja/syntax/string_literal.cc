#include "text/jinja/syntax/string_literal.h"

#include <charconv>
#include <cstddef>
#include <cstdint>

#include "text/unicode/characters.h"

namespace sluice::text::jinja {
namespace {

constexpr std::string_view kLetters = "\n\\'\"abfnrtv";
constexpr std::string_view kMeanings("\0\\'\"\a\b\f\n\r\t\v", 11);

/// Reads exactly `digits` of base 16, or up to 3 of base 8 where `digits` is 0. Moves `at`.
Result<char32_t> read_code(std::string_view text, std::size_t& at, std::size_t digits) {
  const std::string_view number = text.substr(at, digits == 0 ? 3 : digits);
  std::uint32_t code = 0;
  const auto end =
      std::from_chars(number.data(), number.data() + number.size(), code, digits == 0 ? 8 : 16);
  const auto size = static_cast<std::size_t>(end.ptr - number.data());
  const bool is_whole = digits == 0 || size == digits;
  const bool is_character = code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
  if (end.ec != std::errc() || !is_whole || !is_character) {
    return invalid_argument("an escape names no character");
  }
  at += size;
  return static_cast<char32_t>(code);
}

}  // namespace

Result<std::string> unescape(std::string_view text) {
  std::string to;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      to += text[at++];
      continue;
    }
    const char letter = text[++at];
    if (const std::size_t place = kLetters.find(letter); place != std::string_view::npos) {
      // A line end behind a backslash goes with it.
      if (letter != '\n') to += kMeanings[place];
      ++at;
    } else if (letter == 'x' || letter == 'u' || letter == 'U') {
      ++at;
      const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
      append_character(to, SLUICE_TRY(read_code(text, at, digits)));
    } else if (letter >= '0' && letter <= '7') {
      append_character(to, SLUICE_TRY(read_code(text, at, 0)));
    } else {
      to += '\\';
    }
  }
  return to;
}

}  // namespace sluice::text::jinja
