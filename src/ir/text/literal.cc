#include "ir/text/literal.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/text/number.h"

namespace sluice::ir {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

int hex_value(char digit) {
  const std::size_t value = kHexDigits.find(digit);
  return value == std::string_view::npos ? -1 : static_cast<int>(value);
}

/// Calls `visit` with a value of the C++ type behind `type`; false for types without decimals.
template <typename Visit>
bool dispatch_decimal(ElementType type, const Visit& visit) {
  switch (type) {
    case ElementType::kF32: visit(float()); return true;
    case ElementType::kF64: visit(double()); return true;
    case ElementType::kI8: visit(std::int8_t()); return true;
    case ElementType::kI16: visit(std::int16_t()); return true;
    case ElementType::kI32: visit(std::int32_t()); return true;
    case ElementType::kI64: visit(std::int64_t()); return true;
    // A bool is printed as the byte that it is, so that bytes other than 0 and 1 survive.
    case ElementType::kBool:
    case ElementType::kU8: visit(std::uint8_t()); return true;
    case ElementType::kU16: visit(std::uint16_t()); return true;
    case ElementType::kU32: visit(std::uint32_t()); return true;
    case ElementType::kU64: visit(std::uint64_t()); return true;
    default: return false;
  }
}

template <typename T>
std::string word_of(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return float_text(value, std::is_same_v<T, float>);
  } else {
    // A type of one byte would be printed as a character.
    return fmt::format("{}", static_cast<std::conditional_t<sizeof(T) == 1, int, T>>(value));
  }
}

}  // namespace

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += "\\x";
      quoted += kHexDigits[byte >> 4U];
      quoted += kHexDigits[byte & 15U];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string float_text(double value, bool is_f32) {
  std::string text =
      is_f32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  // The parser tells floats from integers by these characters; n and i are those of nan and inf.
  if (text.find_first_of(".eni") == std::string::npos) text += ".0";
  return text;
}

bool is_plain_word(std::string_view text) {
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("_./:-").find(c) != std::string_view::npos;
    if (!plain) return false;
  }
  return !text.empty();
}

std::optional<std::vector<std::string>> element_words(const Constant& constant) {
  std::vector<std::string> words;
  bool is_exact = true;
  const bool has_decimals = dispatch_decimal(constant.type.element(), [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t at = 0; at + sizeof(T) <= constant.data.size(); at += sizeof(T)) {
      T value;
      // Constants of a mapped file need not be aligned.
      std::memcpy(&value, constant.data.data() + at, sizeof(T));
      // Decimals lose the payload of a NaN; the caller prints bytes instead.
      if constexpr (std::is_floating_point_v<T>) is_exact = is_exact && std::isfinite(value);
      words.push_back(word_of(value));
    }
  });
  if (!has_decimals || !is_exact) return std::nullopt;
  return words;
}

std::optional<std::vector<std::byte>> element_bytes(ElementType type,
                                                    const std::vector<std::string>& words) {
  std::vector<std::byte> bytes;
  bool is_valid = true;
  const bool has_decimals = dispatch_decimal(type, [&](auto value) {
    bytes.resize(words.size() * sizeof(value));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto read = to_number<decltype(value)>(words[i]);
      is_valid = is_valid && read;
      value = read.value_or(value);
      std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
  });
  if (!has_decimals || !is_valid) return std::nullopt;
  return bytes;
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kHexDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kHexDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return bytes;
}

}  // namespace sluice::ir
