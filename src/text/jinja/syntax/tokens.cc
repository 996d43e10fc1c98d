#include "text/jinja/syntax/tokens.h"

#include <fmt/format.h>

namespace sluice::text::jinja {

Status Tokens::expect_operator(std::string_view sign) {
  if (skip_operator(sign)) return ok_status();
  return error(fmt::format("expected \"{}\"", sign));
}

Status Tokens::expect(TokenKind kind, std::string_view what) {
  if (peek().kind != kind) return error(fmt::format("expected {}", what));
  next();
  return ok_status();
}

Result<std::string> Tokens::expect_name() {
  if (peek().kind != TokenKind::kName) return error("expected a name");
  return next().text;
}

Status Tokens::error(std::string_view problem) const {
  return invalid_argument("line {} of the template: {}", peek().line, problem);
}

Status Tokens::unexpected() const {
  if (peek().kind == TokenKind::kEnd) return error("the template ends too early");
  if (peek().text.empty()) return error("the tag ends too early");
  return error(fmt::format("unexpected \"{}\"", peek().text.substr(0, 40)));
}

}  // namespace sluice::text::jinja
