// Tokens to a tree. The grammar, with its order of operators, is Jinja's.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/result.h"
#include "text/jinja/nodes/statements.h"
#include "text/jinja/syntax/tokens.h"

namespace sluice::text::jinja {

/// Parses expressions. Used by the parser of statements.
class ExpressionParser {
 public:
  explicit ExpressionParser(Tokens& tokens) : tokens_(tokens) {}

  /// With commas, a tuple. `has_conditional`: `a if b else c` may stand there.
  /// Fails: kInvalidArgument with the line, for what is no expression, or is nested too deep;
  ///        kUnimplemented   for a filter or test that is not supported
  Result<ExpressionPtr> parse(bool has_conditional = true);
  /// One expression, without commas.
  Result<ExpressionPtr> parse_one(bool has_conditional = true);

 private:
  Result<ExpressionPtr> parse_or();
  Result<ExpressionPtr> parse_and();
  Result<ExpressionPtr> parse_not();
  Result<ExpressionPtr> parse_comparison();
  Result<ExpressionPtr> parse_sum();
  Result<ExpressionPtr> parse_concat();
  Result<ExpressionPtr> parse_product();
  Result<ExpressionPtr> parse_power();
  Result<ExpressionPtr> parse_unary(bool has_filters);
  Result<ExpressionPtr> parse_primary();
  Result<ExpressionPtr> parse_number();
  Result<ExpressionPtr> parse_list();
  Result<ExpressionPtr> parse_dict();
  Result<ExpressionPtr> parse_brackets();
  Result<ExpressionPtr> parse_postfix(ExpressionPtr owner);
  Result<ExpressionPtr> parse_filters(ExpressionPtr subject);
  Result<ExpressionPtr> parse_attribute(ExpressionPtr owner);
  Result<ExpressionPtr> parse_item(ExpressionPtr owner);
  Result<ExpressionPtr> parse_call(ExpressionPtr callee);
  Result<ExpressionPtr> parse_filter(ExpressionPtr subject);
  Result<ExpressionPtr> parse_test(ExpressionPtr subject);
  Result<ArgumentNodes> parse_arguments();

  Tokens& tokens_;
  int depth_ = 0;  ///< calls of the parser that lie in each other
};

/// Fails: as `ExpressionParser`, and kUnimplemented for a tag that is not supported.
Result<Block> parse_template(std::string_view source);

}  // namespace sluice::text::jinja
