// Texts of files and devices may hold any bytes; those of names and messages must be UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

/// Bytes of the character that `text` starts with; 0 if that is none (RFC 3629, section 4).
std::size_t utf8_character_bytes(std::string_view text);

/// `text` with each byte that is part of no character replaced by '?'.
std::string valid_utf8(std::string_view text);

/// The start of a text from outside, which may be long and hold any bytes, for a message.
std::string shown(std::string_view text, std::size_t max_bytes = 64);

/// Whether the texts differ at most in upper and lower case.
bool is_same_word(std::string_view a, std::string_view b);
/// A text without the byte order mark that editors of other systems write before it.
std::string_view without_mark(std::string_view text);
/// Without the spaces and tabs at its ends.
std::string_view trimmed(std::string_view text);

inline constexpr std::size_t kMaxNameBytes = 256;

/// Names of clients, models, groups, tokens and tensors stand in lists, logs and metrics. Empty is
/// no name. `what`: for the message.
/// Fails: kInvalidArgument for a name that is longer than kMaxNameBytes, is not UTF-8, or has
/// control characters.
Status check_name(std::string_view name, std::string_view what);

}  // namespace sluice
