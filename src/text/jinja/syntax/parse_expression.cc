
#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "text/jinja/library/filters.h"
#include "text/jinja/syntax/parser.h"

namespace sluice::text::jinja {
namespace {

/// Limit of a tree, and of the parser itself, whose calls take stack as evaluation does.
constexpr int kMaxNodeDepth = 150;

template <typename Node>
std::unique_ptr<Node> make(const Tokens& tokens) {
  auto node = std::make_unique<Node>();
  node->line = tokens.peek().line;
  return node;
}

/// Keeps the depth of a node above those of its children. A node calls it for each child, before it
/// moves the child in.
void grow(Expression& parent, const ExpressionPtr& child) {
  if (child != nullptr) parent.depth = std::max(parent.depth, child->depth + 1);
}

void grow(Expression& parent, const ArgumentNodes& arguments) {
  for (const auto& argument : arguments.positional) grow(parent, argument);
  for (const auto& [name, argument] : arguments.named) grow(parent, argument);
}

/// Chains such as a.b.c and a + b + c nest without a call of the parser.
Result<ExpressionPtr> checked(ExpressionPtr node, const Tokens& tokens) {
  if (node->depth <= kMaxNodeDepth) return node;
  return tokens.error("the expression is nested too deep");
}

Result<ExpressionPtr> binary(Operator op, ExpressionPtr left, ExpressionPtr right,
                             const Tokens& tokens) {
  auto node = make<BinaryNode>(tokens);
  grow(*node, left);
  grow(*node, right);
  node->op = op;
  node->left = std::move(left);
  node->right = std::move(right);
  return checked(std::move(node), tokens);
}

Result<ExpressionPtr> logic(bool is_and, ExpressionPtr left, ExpressionPtr right,
                            const Tokens& tokens) {
  auto node = make<LogicNode>(tokens);
  grow(*node, left);
  grow(*node, right);
  node->is_and = is_and;
  node->left = std::move(left);
  node->right = std::move(right);
  return checked(std::move(node), tokens);
}

/// The lexer takes the longest sign, so `<` never matches the start of `<=`. `not in` needs a token
/// of lookahead: `not` alone belongs to the expression behind it.
std::optional<Comparison> read_comparison(Tokens& tokens) {
  constexpr std::pair<std::string_view, Comparison> kSigns[] = {
      {"==", Comparison::kEqual},  {"!=", Comparison::kNotEqual},
      {"<", Comparison::kLess},    {"<=", Comparison::kLessEqual},
      {">", Comparison::kGreater}, {">=", Comparison::kGreaterEqual}};
  for (const auto& [sign, comparison] : kSigns) {
    if (tokens.skip_operator(sign)) return comparison;
  }
  if (tokens.skip_name("in")) return Comparison::kIn;
  if (tokens.peek().is_name("not") && tokens.peek(1).is_name("in")) {
    tokens.next();
    tokens.next();
    return Comparison::kNotIn;
  }
  return std::nullopt;
}

/// Counts calls while it lives.
class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  ~Nesting() { --depth_; }
  Status check(const Tokens& tokens) const {
    if (depth_ <= kMaxNodeDepth) return ok_status();
    return tokens.error("the expression is nested too deep");
  }

 private:
  int& depth_;
};

}  // namespace

Result<ExpressionPtr> ExpressionParser::parse(bool has_conditional) {
  // The node takes its line from the first token. The loop ends at a comma
  // before a closing token, for `(a,)`, and before `in`, for `for a, in list`.
  auto list = make<ListNode>(tokens_);
  list->is_tuple = true;
  ExpressionPtr first = SLUICE_TRY(parse_one(has_conditional));
  if (!tokens_.peek().is_operator(",")) return first;
  grow(*list, first);
  list->items.push_back(std::move(first));
  while (tokens_.skip_operator(",")) {
    const Token& token = tokens_.peek();
    const bool is_end = token.kind == TokenKind::kTagEnd || token.kind == TokenKind::kOutputEnd ||
                        token.is_operator(")") || token.is_name("in");
    if (is_end) break;
    list->items.push_back(SLUICE_TRY(parse_one(has_conditional)));
    grow(*list, list->items.back());
  }
  return checked(std::move(list), tokens_);
}

Result<ExpressionPtr> ExpressionParser::parse_one(bool has_conditional) {
  // Calls that lie in each other pass through here, through parse_not or through parse_unary: those
  // three count.
  const Nesting nesting(depth_);
  SLUICE_TRY(nesting.check(tokens_));
  ExpressionPtr value = SLUICE_TRY(parse_or());
  while (has_conditional && tokens_.skip_name("if")) {
    auto node = make<ConditionalNode>(tokens_);
    node->condition = SLUICE_TRY(parse_or());
    if (tokens_.skip_name("else")) node->otherwise = SLUICE_TRY(parse_one());
    grow(*node, value);
    grow(*node, node->condition);
    grow(*node, node->otherwise);
    node->value = std::move(value);
    value = SLUICE_TRY(checked(std::move(node), tokens_));
  }
  return value;
}

/// The functions from here to parse_power stand in the order of Jinja's operators, from the weakest
/// to the strongest. Each parses its operands by the next one, and repeats itself to the left.
Result<ExpressionPtr> ExpressionParser::parse_or() {
  ExpressionPtr left = SLUICE_TRY(parse_and());
  while (tokens_.skip_name("or")) {
    ExpressionPtr right = SLUICE_TRY(parse_and());
    left = SLUICE_TRY(logic(false, std::move(left), std::move(right), tokens_));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_and() {
  ExpressionPtr left = SLUICE_TRY(parse_not());
  while (tokens_.skip_name("and")) {
    ExpressionPtr right = SLUICE_TRY(parse_not());
    left = SLUICE_TRY(logic(true, std::move(left), std::move(right), tokens_));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_not() {
  if (!tokens_.peek().is_name("not")) return parse_comparison();
  const Nesting nesting(depth_);
  SLUICE_TRY(nesting.check(tokens_));
  auto node = make<NotNode>(tokens_);
  tokens_.next();
  node->operand = SLUICE_TRY(parse_not());
  grow(*node, node->operand);
  return checked(std::move(node), tokens_);
}

Result<ExpressionPtr> ExpressionParser::parse_comparison() {
  auto node = make<CompareNode>(tokens_);
  node->first = SLUICE_TRY(parse_sum());
  grow(*node, node->first);
  while (const auto comparison = read_comparison(tokens_)) {
    ExpressionPtr other = SLUICE_TRY(parse_sum());
    grow(*node, other);
    node->others.emplace_back(*comparison, std::move(other));
  }
  if (node->others.empty()) return std::move(node->first);
  return checked(std::move(node), tokens_);
}

Result<ExpressionPtr> ExpressionParser::parse_sum() {
  // `~` binds stronger than `+` in Jinja, unlike in most languages.
  ExpressionPtr left = SLUICE_TRY(parse_concat());
  while (true) {
    const bool is_sum = tokens_.peek().is_operator("+");
    if (!is_sum && !tokens_.peek().is_operator("-")) return left;
    tokens_.next();
    ExpressionPtr right = SLUICE_TRY(parse_concat());
    left = SLUICE_TRY(binary(is_sum ? Operator::kAdd : Operator::kSubtract, std::move(left),
                             std::move(right), tokens_));
  }
}

Result<ExpressionPtr> ExpressionParser::parse_concat() {
  ExpressionPtr first = SLUICE_TRY(parse_product());
  if (!tokens_.peek().is_operator("~")) return first;
  auto node = make<ConcatNode>(tokens_);
  grow(*node, first);
  node->parts.push_back(std::move(first));
  while (tokens_.skip_operator("~")) {
    node->parts.push_back(SLUICE_TRY(parse_product()));
    grow(*node, node->parts.back());
  }
  return checked(std::move(node), tokens_);
}

Result<ExpressionPtr> ExpressionParser::parse_product() {
  // The lexer has made one token of `//`, so the order of the entries does not matter.
  constexpr std::pair<std::string_view, Operator> kSigns[] = {{"*", Operator::kMultiply},
                                                              {"/", Operator::kDivide},
                                                              {"//", Operator::kFloorDivide},
                                                              {"%", Operator::kRemainder}};
  ExpressionPtr left = SLUICE_TRY(parse_power());
  while (true) {
    const auto* sign = std::ranges::find_if(
        kSigns, [&](const auto& entry) { return tokens_.skip_operator(entry.first); });
    if (sign == std::end(kSigns)) return left;
    ExpressionPtr right = SLUICE_TRY(parse_power());
    left = SLUICE_TRY(binary(sign->second, std::move(left), std::move(right), tokens_));
  }
}

Result<ExpressionPtr> ExpressionParser::parse_power() {
  ExpressionPtr left = SLUICE_TRY(parse_unary(true));
  // Powers group to the left in Jinja: 2 ** 3 ** 2 is 64, where Python gives 512.
  while (tokens_.skip_operator("**")) {
    ExpressionPtr right = SLUICE_TRY(parse_unary(true));
    left = SLUICE_TRY(binary(Operator::kPower, std::move(left), std::move(right), tokens_));
  }
  return left;
}

/// Filters bind weaker than a sign: `-x | abs` is `(-x) | abs`. The operand of the sign therefore
/// reads none, and the outermost call reads them all.
Result<ExpressionPtr> ExpressionParser::parse_unary(bool has_filters) {
  const Nesting nesting(depth_);
  SLUICE_TRY(nesting.check(tokens_));
  ExpressionPtr value;
  if (tokens_.peek().is_operator("-")) {
    auto node = make<NegateNode>(tokens_);
    tokens_.next();
    node->operand = SLUICE_TRY(parse_unary(false));
    grow(*node, node->operand);
    value = SLUICE_TRY(checked(std::move(node), tokens_));
  } else if (tokens_.skip_operator("+")) {
    value = SLUICE_TRY(parse_unary(false));
  } else {
    value = SLUICE_TRY(parse_primary());
  }
  value = SLUICE_TRY(parse_postfix(std::move(value)));
  if (has_filters) value = SLUICE_TRY(parse_filters(std::move(value)));
  return value;
}

/// The chain grows in a loop, without a call of the parser per link. `checked` therefore bounds the
/// depth of the tree as well: evaluation recurses over it.
Result<ExpressionPtr> ExpressionParser::parse_postfix(ExpressionPtr owner) {
  while (true) {
    if (tokens_.peek().is_operator(".")) {
      owner = SLUICE_TRY(parse_attribute(std::move(owner)));
    } else if (tokens_.peek().is_operator("[")) {
      owner = SLUICE_TRY(parse_item(std::move(owner)));
    } else if (tokens_.peek().is_operator("(")) {
      owner = SLUICE_TRY(parse_call(std::move(owner)));
    } else {
      return owner;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_filters(ExpressionPtr subject) {
  while (true) {
    if (tokens_.peek().is_operator("|")) {
      subject = SLUICE_TRY(parse_filter(std::move(subject)));
    } else if (tokens_.peek().is_name("is")) {
      subject = SLUICE_TRY(parse_test(std::move(subject)));
    } else if (tokens_.peek().is_operator("(")) {
      subject = SLUICE_TRY(parse_call(std::move(subject)));
    } else {
      return subject;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_attribute(ExpressionPtr owner) {
  tokens_.next();
  // `pair.0` is an item, as in Jinja; the lexer keeps the dot apart from the number.
  if (tokens_.peek().kind == TokenKind::kInteger) {
    auto item = make<ItemNode>(tokens_);
    item->key = SLUICE_TRY(parse_number());
    grow(*item, owner);
    item->owner = std::move(owner);
    return checked(std::move(item), tokens_);
  }
  auto node = make<AttributeNode>(tokens_);
  node->name = SLUICE_TRY(tokens_.expect_name());
  grow(*node, owner);
  node->owner = std::move(owner);
  return checked(std::move(node), tokens_);
}

Result<ExpressionPtr> ExpressionParser::parse_item(ExpressionPtr owner) {
  // Whether brackets hold an index or a slice shows behind their first expression; the node that is
  // not needed goes.
  auto slice = make<SliceNode>(tokens_);
  auto item = make<ItemNode>(tokens_);
  tokens_.next();
  const auto is_at = [&](std::string_view sign) { return tokens_.peek().is_operator(sign); };
  if (!is_at(":")) {
    ExpressionPtr start = SLUICE_TRY(parse_one());
    if (tokens_.skip_operator("]")) {
      item->key = std::move(start);
      grow(*item, item->key);
      grow(*item, owner);
      item->owner = std::move(owner);
      return checked(std::move(item), tokens_);
    }
    slice->start = std::move(start);
  }
  SLUICE_TRY(tokens_.expect_operator(":"));
  if (!is_at(":") && !is_at("]")) slice->stop = SLUICE_TRY(parse_one());
  if (tokens_.skip_operator(":") && !is_at("]")) slice->step = SLUICE_TRY(parse_one());
  SLUICE_TRY(tokens_.expect_operator("]"));
  for (const ExpressionPtr* child : {&owner, &slice->start, &slice->stop, &slice->step}) {
    grow(*slice, *child);
  }
  slice->owner = std::move(owner);
  return checked(std::move(slice), tokens_);
}

Result<ExpressionPtr> ExpressionParser::parse_call(ExpressionPtr callee) {
  auto node = make<CallNode>(tokens_);
  node->arguments = SLUICE_TRY(parse_arguments());
  grow(*node, callee);
  grow(*node, node->arguments);
  node->callee = std::move(callee);
  return checked(std::move(node), tokens_);
}

Result<ExpressionPtr> ExpressionParser::parse_filter(ExpressionPtr subject) {
  auto node = make<FilterNode>(tokens_);
  tokens_.next();
  const std::string name = SLUICE_TRY(tokens_.expect_name());
  // Filters are found while parsing, so an unknown one is refused when a model is loaded, not in
  // the first chat that comes to it.
  const NamedFunction* filter = find_filter(name);
  if (filter == nullptr) {
    return unimplemented("line {} of the template: the filter \"{}\" is not supported", node->line,
                         name);
  }
  node->filter = *filter;
  if (tokens_.peek().is_operator("(")) node->arguments = SLUICE_TRY(parse_arguments());
  grow(*node, subject);
  grow(*node, node->arguments);
  node->subject = std::move(subject);
  return checked(std::move(node), tokens_);
}

Result<ExpressionPtr> ExpressionParser::parse_test(ExpressionPtr subject) {
  auto node = make<FilterNode>(tokens_);
  tokens_.next();
  const bool is_negated = tokens_.skip_name("not");
  const std::string name = SLUICE_TRY(tokens_.expect_name());
  const NamedFunction* test = find_test(name);
  if (test == nullptr) {
    return unimplemented("line {} of the template: the test \"{}\" is not supported", node->line,
                         name);
  }
  node->filter = *test;
  const Token& token = tokens_.peek();
  // A test without brackets takes one operand, as in `x is divisibleby 3`. Words that join
  // expressions are no operand, and neither is a second `is`.
  if (token.is_name("is")) return tokens_.error("a test follows a test");
  const bool ends = token.is_name("else") || token.is_name("or") || token.is_name("and");
  const bool starts_value = token.kind == TokenKind::kName || token.kind == TokenKind::kString ||
                            token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat ||
                            token.is_operator("[") || token.is_operator("{");
  if (token.is_operator("(")) {
    node->arguments = SLUICE_TRY(parse_arguments());
  } else if (starts_value && !ends) {
    ExpressionPtr argument = SLUICE_TRY(parse_primary());
    node->arguments.positional.push_back(SLUICE_TRY(parse_postfix(std::move(argument))));
  }
  grow(*node, subject);
  grow(*node, node->arguments);
  node->subject = std::move(subject);
  if (!is_negated) return checked(std::move(node), tokens_);
  // `x is not y` is `not (x is y)`.
  auto negated = make<NotNode>(tokens_);
  negated->operand = std::move(node);
  grow(*negated, negated->operand);
  return checked(std::move(negated), tokens_);
}

Result<ArgumentNodes> ExpressionParser::parse_arguments() {
  ArgumentNodes arguments;
  SLUICE_TRY(tokens_.expect_operator("("));
  while (!tokens_.skip_operator(")")) {
    // A list of unknown length would escape the check of argument counts while parsing.
    if (tokens_.peek().is_operator("*") || tokens_.peek().is_operator("**")) {
      return unimplemented("line {} of the template: arguments with * are not supported",
                           tokens_.peek().line);
    }
    if (tokens_.peek().kind == TokenKind::kName && tokens_.peek(1).is_operator("=")) {
      std::string name = tokens_.next().text;
      tokens_.next();
      ExpressionPtr value = SLUICE_TRY(parse_one());
      arguments.named.emplace_back(std::move(name), std::move(value));
    } else if (arguments.named.empty()) {
      arguments.positional.push_back(SLUICE_TRY(parse_one()));
    } else {
      return tokens_.error("an argument without a name follows one with a name");
    }
    if (!tokens_.peek().is_operator(")")) SLUICE_TRY(tokens_.expect_operator(","));
  }
  return arguments;
}

Result<ExpressionPtr> ExpressionParser::parse_primary() {
  const Token& token = tokens_.peek();
  if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) return parse_number();
  if (token.is_operator("(")) return parse_brackets();
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  auto literal = make<Literal>(tokens_);
  if (token.kind == TokenKind::kString) {
    std::string text;
    // Texts side by side are one text, as in Python.
    while (tokens_.peek().kind == TokenKind::kString) text += tokens_.next().text;
    literal->value = Value(std::move(text));
    return ExpressionPtr(std::move(literal));
  }
  if (token.kind != TokenKind::kName) return tokens_.unexpected();
  // Jinja takes both spellings of its constants. Other names are variables, functions as well.
  const std::string name = tokens_.next().text;
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    literal->value = Value(name == "true" || name == "True");
    return ExpressionPtr(std::move(literal));
  }
  if (name == "none" || name == "None") {
    literal->value = Value(None{});
    return ExpressionPtr(std::move(literal));
  }
  auto node = std::make_unique<Name>();
  node->line = literal->line;
  node->name = name;
  return ExpressionPtr(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::parse_number() {
  auto literal = make<Literal>(tokens_);
  const Token& token = tokens_.peek();
  const char* end = token.text.data() + token.text.size();
  std::int64_t whole = 0;
  double number = 0;
  // The lexer has checked the digits, so the only error left is a number without a place.
  const bool is_read = token.kind == TokenKind::kInteger
                           ? std::from_chars(token.text.data(), end, whole).ec == std::errc()
                           : std::from_chars(token.text.data(), end, number).ec == std::errc();
  if (!is_read) return tokens_.error("the number is too large");
  literal->value = token.kind == TokenKind::kInteger ? Value(whole) : Value(number);
  tokens_.next();
  return ExpressionPtr(std::move(literal));
}

/// Round ones: a tuple, or an expression as it is.
Result<ExpressionPtr> ExpressionParser::parse_brackets() {
  auto empty = make<ListNode>(tokens_);
  empty->is_tuple = true;
  tokens_.next();
  if (tokens_.skip_operator(")")) return ExpressionPtr(std::move(empty));
  ExpressionPtr value = SLUICE_TRY(parse());
  SLUICE_TRY(tokens_.expect_operator(")"));
  return value;
}

Result<ExpressionPtr> ExpressionParser::parse_list() {
  auto list = make<ListNode>(tokens_);
  tokens_.next();
  while (!tokens_.skip_operator("]")) {
    list->items.push_back(SLUICE_TRY(parse_one()));
    grow(*list, list->items.back());
    if (!tokens_.peek().is_operator("]")) SLUICE_TRY(tokens_.expect_operator(","));
  }
  return checked(std::move(list), tokens_);
}

Result<ExpressionPtr> ExpressionParser::parse_dict() {
  auto dict = make<DictNode>(tokens_);
  tokens_.next();
  while (!tokens_.skip_operator("}")) {
    ExpressionPtr key = SLUICE_TRY(parse_one());
    SLUICE_TRY(tokens_.expect_operator(":"));
    ExpressionPtr value = SLUICE_TRY(parse_one());
    grow(*dict, key);
    grow(*dict, value);
    dict->entries.emplace_back(std::move(key), std::move(value));
    if (!tokens_.peek().is_operator("}")) SLUICE_TRY(tokens_.expect_operator(","));
  }
  return checked(std::move(dict), tokens_);
}

}  // namespace sluice::text::jinja
