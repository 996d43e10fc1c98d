// Python's view of a text: characters, not bytes. All texts are valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text::jinja {

/// What str.isspace and str.strip take as white space.
bool is_space(char32_t c);

std::int64_t count_characters(std::string_view text);
/// Each a text of one character.
std::vector<std::string_view> characters_of(std::string_view text);

/// The first place of `part` at or behind `from`, npos without one. Linear in the text however
/// `part` repeats itself, unlike std::string_view::find.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0);
/// The last place. Takes text.size() * part.size() steps at worst.
std::size_t find_last_text(std::string_view text, std::string_view part);

enum class Side { kLeft, kRight, kBoth };
/// Without the characters of `set`, or white space if `set` is null, at its ends.
/// What `strip` costs: each character of the text is looked for in the set.
std::size_t units_of_strip(std::string_view text, const std::string* set);
std::string_view strip(std::string_view text, const std::string* set, Side side);

/// Python's `start:stop:step` of a sequence; an absent number is the sequence's end.
struct Slice {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> stop;
  std::int64_t step = 1;
};
/// Indices that a slice takes of `count` elements, in order. Requires: step != 0.
std::vector<std::size_t> indices_of(const Slice& slice, std::int64_t count);

/// Between line ends, which go: \n, \r, \r\n and those of Unicode.
std::vector<std::string_view> split_lines(std::string_view text);

}  // namespace sluice::text::jinja
