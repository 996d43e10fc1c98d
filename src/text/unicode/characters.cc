#include "text/unicode/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/utf8.h"

namespace sluice::text {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

/// All printable ASCII but letters, digits and the space: BERT's tokenizer also splits at $, + and
/// the like, which Unicode calls symbols.
bool is_ascii_punctuation(char32_t c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
         (c >= 123 && c <= 126);
}

/// A character with property Other_Alphabetic that is neither a letter nor a mark.
bool is_circled_letter(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

/// Eight bytes at a time: most texts are mostly ASCII, and every text passes here.
std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080U) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

/// Bytes of the longest start of a character that `text` begins with; at least 1.
std::size_t broken_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  // 0xC0 and 0xC1 could only start an overlong form; above 0xF4 lies no code point.
  if (first < 0xC2 || first > 0xF4) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  for (std::size_t taken = std::min(length - 1, text.size()); taken > 1; --taken) {
    // It starts a character if some ending, and then this one, makes it whole.
    std::string filled(text.substr(0, taken));
    filled.resize(length, '\x80');
    if (utf8_character_bytes(filled) > 0) return taken;
  }
  return 1;
}

}  // namespace

Status check_utf8(std::string_view text) {
  std::size_t at = 0;
  while (true) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) return ok_status();
    const std::size_t length = utf8_character_bytes(text.substr(at));
    if (length == 0) return invalid_argument("byte {} of the text is not UTF-8", at);
    at += length;
  }
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_character_bytes(bytes);
    text += length > 0 ? bytes.substr(0, length) : kReplacement;
    bytes.remove_prefix(length > 0 ? length : broken_bytes(bytes));
  }
  return text;
}

/// Requires valid UTF-8, which check_utf8 has established: the bytes behind the first are there.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t first = byte(0);
  char32_t c = first;
  if (first < 0x80) {
    at += 1;
  } else if (first < 0xE0) {
    c = (first & 0x1FU) << 6U | (byte(1) & 0x3FU);
    at += 2;
  } else if (first < 0xF0) {
    c = (first & 0xFU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
    at += 3;
  } else {
    c = (first & 0x7U) << 18U | (byte(1) & 0x3FU) << 12U | (byte(2) & 0x3FU) << 6U |
        (byte(3) & 0x3FU);
    at += 4;
  }
  return c;
}

char32_t previous_character(std::string_view text, std::size_t& end) {
  // Steps back over bytes 10xxxxxx to the first byte of the character.
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
  std::size_t at = end;
  return next_character(text, at);
}

void append_character(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0U | c >> 6U);
    text += static_cast<char>(0x80U | (c & 0x3FU));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0U | c >> 12U);
    text += static_cast<char>(0x80U | (c >> 6U & 0x3FU));
    text += static_cast<char>(0x80U | (c & 0x3FU));
  } else {
    text += static_cast<char>(0xF0U | c >> 18U);
    text += static_cast<char>(0x80U | (c >> 12U & 0x3FU));
    text += static_cast<char>(0x80U | (c >> 6U & 0x3FU));
    text += static_cast<char>(0x80U | (c & 0x3FU));
  }
}

/// The property White_Space of Unicode, by value: utf8proc has categories, which differ from it for
/// the characters 9 to 13 and 0x85.
bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_word(char32_t c) {
  if (c < 0x80) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z');
  }
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC: return true;
    default: return is_mark(c) || is_circled_letter(c) || c == 0x200C || c == 0x200D;
  }
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return is_ascii_punctuation(c);
  const utf8proc_category_t of = category(c);
  return of >= UTF8PROC_CATEGORY_PC && of <= UTF8PROC_CATEGORY_PO;
}

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const utf8proc_category_t of = category(c);
  return of >= UTF8PROC_CATEGORY_ND && of <= UTF8PROC_CATEGORY_NO;
}

bool is_mark(char32_t c) {
  if (c < 0x300) return false;
  const utf8proc_category_t of = category(c);
  return of >= UTF8PROC_CATEGORY_MN && of <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(char32_t c) { return c >= 0x300 && category(c) == UTF8PROC_CATEGORY_MN; }

bool is_other(char32_t c) {
  const utf8proc_category_t of = category(c);
  return of == UTF8PROC_CATEGORY_CC || of == UTF8PROC_CATEGORY_CF || of == UTF8PROC_CATEGORY_CO;
}

bool is_printable(char32_t c) {
  const utf8proc_category_t of = category(c);
  return of != UTF8PROC_CATEGORY_CN && of < UTF8PROC_CATEGORY_ZS;
}

bool is_letter(char32_t c) {
  const utf8proc_category_t of = category(c);
  return of >= UTF8PROC_CATEGORY_LU && of <= UTF8PROC_CATEGORY_LO;
}

void append_lower_case(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  } else if (c == 0x130) {
    text += "i\xCC\x87";
  } else {
    append_character(text,
                     static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_upper_case(std::string& text, char32_t c) {
  if (c == 0xDF) {
    text += "SS";
  } else {
    append_character(text,
                     static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

bool is_lower_case(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL; }

bool is_upper_case(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LU; }

}  // namespace sluice::text
