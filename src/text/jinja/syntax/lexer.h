// A template as tokens, with white space around tags removed as `trim_blocks` and `lstrip_blocks`
// say, which chat templates are written for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::text::jinja {

enum class TokenKind {
  kText,
  kOutputBegin,  ///< {{
  kOutputEnd,
  kTagBegin,  ///< {%
  kTagEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,  ///< of the template
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  ///< of a string without quotes and escapes
  int line = 1;

  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
  bool is_operator(std::string_view sign) const {
    return kind == TokenKind::kOperator && text == sign;
  }
};

/// The last token is kEnd.
/// Fails: kInvalidArgument with the line, for a tag without an end or a character that has no
///        meaning.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace sluice::text::jinja
