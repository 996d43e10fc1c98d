#include "base/utf8.h"

#include <strings.h>

#include <algorithm>

namespace sluice {

std::size_t utf8_character_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  // 0xC0 and 0xC1 would begin overlong forms of ASCII; above 0xF4 lie code points past U+10FFFF.
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned char second = byte(1);
  // The second byte decides the rest (table 3-7 of the Unicode standard).
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second > 0x9F;
  const bool is_past_end = first == 0xF4 && second > 0x8F;
  return is_overlong || is_surrogate || is_past_end ? 0 : length;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_character_bytes(text);
    if (length == 0) {
      out += '?';
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string shown(std::string_view text, std::size_t max_bytes) {
  return valid_utf8(text.substr(0, max_bytes));
}

bool is_same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

Status check_name(std::string_view name, std::string_view what) {
  if (name.size() > kMaxNameBytes) {
    return invalid_argument("the name of a {} has {} bytes, at most {} are taken", what,
                            name.size(), kMaxNameBytes);
  }
  // char is signed here: bytes of 0x80 on are negative, and valid_utf8 has checked them.
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; };
  if (valid_utf8(name) == name && std::ranges::none_of(name, is_control)) return ok_status();
  return invalid_argument(
      "the name of a {} has bytes that cannot be printed; use UTF-8 without control characters",
      what);
}

}  // namespace sluice
