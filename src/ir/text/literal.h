// Elements of constants as text, shared by printer and parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attribute.h"

namespace sluice::ir {

/// `"a\"b"` with \" \\ \n \t and \xHH for other control bytes.
std::string quote(std::string_view text);

/// A float that reads back to the same value and is never mistaken for an integer: 1.0, 2.5e-07.
std::string float_text(double value, bool is_f32);

/// Letters, digits and _ . / : - only, not empty.
bool is_plain_word(std::string_view text);

/// Elements as decimal words, or nullopt for types and values that decimals do not carry exactly.
std::optional<std::vector<std::string>> element_words(const Constant& constant);

/// Bytes of elements read from words; nullopt if one is no element of the type.
std::optional<std::vector<std::byte>> element_bytes(ElementType type,
                                                    const std::vector<std::string>& words);

std::string to_hex(std::span<const std::byte> bytes);
std::optional<std::vector<std::byte>> from_hex(std::string_view text);

}  // namespace sluice::ir
