// Words, quoted strings and punctuation of the text form, with places for messages.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::ir {

/// Reads forward only. `//` starts a comment that ends with the line.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  bool is_at_end();
  /// The next character after white space; 0 at the end.
  char peek();
  /// Takes `wanted` if it comes next.
  bool take(char wanted);
  bool take_word(std::string_view wanted);
  Status expect(char wanted);
  Status expect_word(std::string_view wanted);

  /// The longest run of plain word characters (see `is_plain_word`) and '+'.
  Result<std::string> word();
  Result<std::string> quoted();
  Result<std::string> word_or_quoted();
  Result<std::int64_t> integer();
  /// Everything up to white space, ',', ')', '}' or '=' outside brackets: a type.
  std::string_view type_text();

  /// "line 3, column 7: " + the text.
  Status error(std::string_view what) const;

 private:
  void skip_space();
  Result<char> escape();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace sluice::ir
