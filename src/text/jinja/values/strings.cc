#include "text/jinja/values/strings.h"

#include <algorithm>
#include <cstring>

#include "text/unicode/characters.h"

namespace sluice::text::jinja {
namespace {

bool is_line_end(char32_t c) {
  return (c >= 0xA && c <= 0xD) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

bool is_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

std::int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; });
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    next_character(text, at);
    characters.push_back(text.substr(begin, at - begin));
  }
  return characters;
}

std::size_t find_text(std::string_view text, std::string_view part, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const auto* found = static_cast<const char*>(
      memmem(text.data() + from, text.size() - from, part.data(), part.size()));
  return found == nullptr ? std::string_view::npos : static_cast<std::size_t>(found - text.data());
}

std::size_t find_last_text(std::string_view text, std::string_view part) {
  return text.rfind(part);
}

std::size_t units_of_strip(std::string_view text, const std::string* set) {
  const std::size_t looks = set == nullptr ? 1 : 1 + std::min(set->size(), Work::kMaxUnits) / 8;
  return text.size() * looks;  // both are bounded: no overflow
}

std::string_view strip(std::string_view text, const std::string* set, Side side) {
  const auto goes = [&](std::string_view character) {
    std::size_t at = 0;
    if (set == nullptr) return is_space(next_character(character, at));
    return set->find(character) != std::string::npos;
  };
  while (side != Side::kRight && !text.empty()) {
    std::size_t end = 0;
    next_character(text, end);
    if (!goes(text.substr(0, end))) break;
    text.remove_prefix(end);
  }
  while (side != Side::kLeft && !text.empty()) {
    std::size_t begin = text.size();
    previous_character(text, begin);
    if (!goes(text.substr(begin))) break;
    text = text.substr(0, begin);
  }
  return text;
}

std::vector<std::size_t> indices_of(const Slice& slice, std::int64_t count) {
  const bool is_forward = slice.step > 0;
  // A slice that goes back starts at the last element and ends before the first.
  const std::int64_t low = is_forward ? 0 : -1;
  const std::int64_t high = is_forward ? count : count - 1;
  const auto place = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + count : *given, low, high);
  };
  std::int64_t at = place(slice.start, is_forward ? low : high);
  const std::int64_t end = place(slice.stop, is_forward ? high : low);
  // A step beyond the sequence takes one element, and must not overflow.
  const std::int64_t step = std::clamp(slice.step, -count - 1, count + 1);
  std::vector<std::size_t> indices;
  for (; is_forward ? at < end : at > end; at += step) {
    indices.push_back(static_cast<std::size_t>(at));
  }
  return indices;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at;
    const char32_t c = next_character(text, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(begin, end - begin));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

}  // namespace sluice::text::jinja
