// Characters of UTF-8 texts, and what Unicode says of each. Tables: utf8proc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::text {

/// U+FFFD, in UTF-8.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Fails: kInvalidArgument with the offset of the first byte that is part of no character.
Status check_utf8(std::string_view text);
/// As WHATWG decodes: one U+FFFD for each longest start of a character, or byte that starts none.
std::string replace_invalid_utf8(std::string_view bytes);

/// The character at byte `at`, which moves behind it. Requires: valid UTF-8, at < text.size().
char32_t next_character(std::string_view text, std::size_t& at);
/// Requires: 0 < end <= text.size(), the end of a character. Moves `end` to its start.
char32_t previous_character(std::string_view text, std::size_t& end);
void append_character(std::string& text, char32_t character);

bool is_white_space(char32_t c);  ///< property White_Space
bool is_word(char32_t c);         ///< \w of UTS #18: alphabetic, marks, digits, connectors, joiners
bool is_punctuation(char32_t c);  ///< category P, or one of ASCII's 32
bool is_numeric(char32_t c);      ///< category N
bool is_mark(char32_t c);         ///< category M
bool is_nonspacing_mark(char32_t c);  ///< category Mn
bool is_other(char32_t c);            ///< categories Cc, Cf, Co
bool is_printable(char32_t c);        ///< neither of category C nor Z
bool is_letter(char32_t c);           ///< category L
/// Full lower case without context: U+0130 has two characters.
void append_lower_case(std::string& text, char32_t c);
/// Upper case without context; U+00DF has two characters.
void append_upper_case(std::string& text, char32_t c);
bool is_lower_case(char32_t c);  ///< category Ll
bool is_upper_case(char32_t c);  ///< category Lu

}  // namespace sluice::text
