// Tokens in turn, for the parser.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/syntax/lexer.h"

namespace sluice::text::jinja {

class Tokens {
 public:
  /// Requires: the last token is kEnd.
  explicit Tokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }

  bool skip_operator(std::string_view sign) {
    const bool is_there = peek().is_operator(sign);
    if (is_there) next();
    return is_there;
  }
  bool skip_name(std::string_view name) {
    const bool is_there = peek().is_name(name);
    if (is_there) next();
    return is_there;
  }

  /// Fails: kInvalidArgument, as below, for another token.
  Status expect_operator(std::string_view sign);
  Status expect(TokenKind kind, std::string_view what);
  Result<std::string> expect_name();
  /// "line 3 of the template: ..".
  Status error(std::string_view problem) const;
  Status unexpected() const;

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace sluice::text::jinja
