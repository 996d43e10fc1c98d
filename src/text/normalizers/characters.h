// Normalizers that look at one character at a time.
#pragma once

#include <memory>

#include "text/normalizers/normalizer.h"

namespace sluice::text {

std::unique_ptr<const Normalizer> make_lowercase();
/// Removes marks; letters that have one built in keep it.
std::unique_ptr<const Normalizer> make_strip_accents();
/// Sentencepiece's rules for machine translation: control characters go, other spaces become ' '.
std::unique_ptr<const Normalizer> make_nmt();
/// Bytes as characters that print (text/unicode/byte_characters.h).
std::unique_ptr<const Normalizer> make_byte_level();

/// Lower case of each character, without context.
std::string to_lower_case(std::string_view text);

}  // namespace sluice::text
