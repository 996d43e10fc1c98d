// Words, numbers and marks of a PTX text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::cuda::ptx {

struct Token {
  enum class Kind : std::uint8_t { kEnd, kWord, kNumber, kString, kMark };

  Kind kind = Kind::kEnd;
  std::string_view text;  ///< a word keeps the dots within: "ld.param.u64", but ".reg", ".b32"
  std::uint32_t line = 1;

  bool is(std::string_view what) const { return kind != Kind::kString && text == what; }
};

/// A value type: a copy continues at the same token. Throws Refusal for bytes that begin no
/// token.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }

  const Token& peek() const { return token_; }
  Token take();
  /// Takes the next token if it is `what`.
  bool take_if(std::string_view what);
  /// Takes `what`, or refuses the text.
  void expect(std::string_view what);
  /// Takes a word, or refuses the text: `expected <what>`.
  std::string_view take_word(std::string_view what);
  /// An integer with its sign, or refuses the text.
  std::int64_t take_integer(std::string_view what);
  /// Passes a balanced {...}. Requires: the next token is "{".
  void skip_braces();

 private:
  void advance();
  void skip_blanks();

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  Token token_;
};

/// A token as a number, or refuses the text: decimal, 0x, 0b, octal, 0f and 0d bits, 1.5.
struct Number {
  enum class Kind : std::uint8_t { kInteger, kFloat32, kFloat64 };
  Kind kind = Kind::kInteger;
  std::uint64_t bits = 0;
};
Number parse_number(const Token& token);

}  // namespace sluice::cuda::ptx
