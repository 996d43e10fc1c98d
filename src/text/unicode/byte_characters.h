// GPT-2's alphabet: a printing character for each byte.
#pragma once

#include <string>
#include <string_view>

namespace sluice::text {

/// Each byte as its character: itself where ASCII or Latin-1 prints it, else one from U+0100 on.
void append_byte_characters(std::string& to, std::string_view bytes);

/// The bytes of a text of such characters; false, and nothing appended, if another is in it.
bool append_bytes_of_characters(std::string& to, std::string_view characters);

}  // namespace sluice::text
