#include "text/unicode/byte_characters.h"

#include <array>
#include <cstdint>

#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

constexpr std::size_t kNumCharacters = 0x144;  // behind the last of the alphabet

constexpr bool prints(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::uint16_t, 256> character_of{};
  std::array<std::int16_t, kNumCharacters> byte_of{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (std::int16_t& byte : alphabet.byte_of) byte = -1;
  std::uint16_t next = 0x100;
  for (std::uint16_t byte = 0; byte < 256; ++byte) {
    const std::uint16_t character = prints(byte) ? byte : next++;
    alphabet.character_of[byte] = character;
    alphabet.byte_of[character] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

void append_byte_characters(std::string& to, std::string_view bytes) {
  const std::size_t size = to.size();
  to.resize(size + 2 * bytes.size());
  char* out = to.data() + size;
  for (const char byte : bytes) {
    const std::uint16_t c = kAlphabet.character_of[static_cast<unsigned char>(byte)];
    if (c < 0x80) {
      *out++ = static_cast<char>(c);
    } else {
      *out++ = static_cast<char>(0xC0U | c >> 6U);
      *out++ = static_cast<char>(0x80U | (c & 0x3FU));
    }
  }
  to.resize(static_cast<std::size_t>(out - to.data()));
}

bool append_bytes_of_characters(std::string& to, std::string_view characters) {
  const std::size_t size = to.size();
  for (std::size_t at = 0; at < characters.size();) {
    const char32_t c = next_character(characters, at);
    if (c >= kNumCharacters || kAlphabet.byte_of[c] < 0) {
      to.resize(size);
      return false;
    }
    to += static_cast<char>(kAlphabet.byte_of[c]);
  }
  return true;
}

}  // namespace sluice::text
