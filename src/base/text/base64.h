// Bytes as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// RFC 4648, section 4, with padding. nullopt for anything else.
std::optional<std::string> decode_base64(std::string_view text);
/// With padding.
std::string encode_base64(std::string_view bytes);

}  // namespace sluice
