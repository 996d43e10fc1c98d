#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/jinja/syntax/parser.h"

namespace sluice::text::jinja {
namespace {

/// Tags within each other.
constexpr int kMaxTags = 60;

/// Tags that Jinja has and chat templates do not use. Their message differs from that of a misspelt
/// tag.
constexpr std::string_view kUnsupported[] = {"autoescape", "block",  "call",  "do",
                                             "extends",    "filter", "from",  "import",
                                             "include",    "print",  "trans", "with"};

class TemplateParser {
 public:
  explicit TemplateParser(Tokens tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Result<Block> run() { return parse_block({}); }

 private:
  /// Up to a tag of one of these names, or to the end of the template if there are none. The tag's
  /// begin and name are read.
  Result<Block> parse_block(std::initializer_list<std::string_view> ends) {
    Block block;
    while (true) {
      const Token& token = tokens_.peek();
      if (token.kind == TokenKind::kEnd) {
        if (ends.size() == 0) return block;
        return tokens_.error(fmt::format("expected {{% {} %}}", *(ends.end() - 1)));
      }
      if (token.kind == TokenKind::kText) {
        auto text = std::make_unique<TextNode>();
        text->text = tokens_.next().text;
        block.push_back(std::move(text));
      } else if (token.kind == TokenKind::kOutputBegin) {
        tokens_.next();
        auto output = std::make_unique<OutputNode>();
        output->value = SLUICE_TRY(expressions_.parse());
        SLUICE_TRY(tokens_.expect(TokenKind::kOutputEnd, "}}"));
        block.push_back(std::move(output));
      } else {
        SLUICE_TRY(tokens_.expect(TokenKind::kTagBegin, "a tag"));
        const bool is_end = std::ranges::any_of(
            ends, [&](std::string_view name) { return tokens_.peek().is_name(name); });
        end_ = is_end ? tokens_.next().text : "";
        if (is_end) return block;
        SLUICE_TRY(add_tag(block));
      }
    }
  }

  Status end_tag() { return tokens_.expect(TokenKind::kTagEnd, "%}"); }

  Status add_tag(Block& block) {
    // The parser recurses for each tag within another, and so does the rendering. An error leaves
    // the count too high, which does not matter: the parser is gone then.
    if (num_tags_ == kMaxTags) return tokens_.error("tags are nested too deep");
    ++num_tags_;
    const std::string name = SLUICE_TRY(tokens_.expect_name());
    if (name == "if") {
      SLUICE_TRY(add_if(block));
    } else if (name == "for") {
      SLUICE_TRY(add_for(block));
    } else if (name == "set") {
      SLUICE_TRY(add_set(block));
    } else if (name == "macro") {
      SLUICE_TRY(add_macro(block));
    } else if (name == "generation") {
      SLUICE_TRY(add_generation(block));
    } else if (name == "break" || name == "continue") {
      SLUICE_TRY(add_flow(block, name == "break" ? Flow::kBreak : Flow::kContinue));
    } else {
      return unknown(name);
    }
    --num_tags_;
    return ok_status();
  }

  Status unknown(const std::string& name) const {
    if (std::ranges::find(kUnsupported, name) == std::end(kUnsupported)) {
      return tokens_.error(fmt::format("there is no tag \"{}\" here", name.substr(0, 40)));
    }
    return unimplemented("line {} of the template: the tag \"{}\" is not supported",
                         tokens_.peek().line, name);
  }

  Status add_if(Block& block) {
    auto node = std::make_unique<IfNode>();
    do {
      // Without conditionals: the `if` of `{% if a if b %}` would otherwise be read as one.
      ExpressionPtr condition = SLUICE_TRY(expressions_.parse(false));
      SLUICE_TRY(end_tag());
      Block taken = SLUICE_TRY(parse_block({"elif", "else", "endif"}));
      node->branches.emplace_back(std::move(condition), std::move(taken));
    } while (end_ == "elif");
    if (end_ == "else") {
      SLUICE_TRY(end_tag());
      node->otherwise = SLUICE_TRY(parse_block({"endif"}));
    }
    block.push_back(std::move(node));
    return end_tag();
  }

  Status add_for(Block& block) {
    auto node = std::make_unique<ForNode>();
    node->target = SLUICE_TRY(parse_target());
    if (!tokens_.skip_name("in")) return tokens_.error("expected \"in\"");
    node->list = SLUICE_TRY(expressions_.parse(false));
    // This `if` belongs to the loop, so the list before it is parsed without conditionals.
    if (tokens_.skip_name("if")) node->condition = SLUICE_TRY(expressions_.parse_one());
    if (tokens_.peek().is_name("recursive")) {
      return unimplemented("line {} of the template: recursive loops are not supported",
                           tokens_.peek().line);
    }
    SLUICE_TRY(end_tag());
    // `else` of a loop stands outside of it: a break there belongs to the loop around.
    ++num_loops_;
    node->body = SLUICE_TRY(parse_block({"else", "endfor"}));
    --num_loops_;
    if (end_ == "else") {
      SLUICE_TRY(end_tag());
      node->otherwise = SLUICE_TRY(parse_block({"endfor"}));
    }
    block.push_back(std::move(node));
    return end_tag();
  }

  Status add_set(Block& block) {
    Target target = SLUICE_TRY(parse_target());
    if (tokens_.skip_operator("=")) {
      auto node = std::make_unique<SetNode>();
      node->target = std::move(target);
      node->value = SLUICE_TRY(expressions_.parse());
      block.push_back(std::move(node));
      return end_tag();
    }
    if (tokens_.peek().is_operator("|")) {
      return unimplemented("line {} of the template: filters of a set block are not supported",
                           tokens_.peek().line);
    }
    SLUICE_TRY(end_tag());
    auto node = std::make_unique<SetBlockNode>();
    node->target = std::move(target);
    node->body = SLUICE_TRY(parse_own_block("endset"));
    block.push_back(std::move(node));
    return end_tag();
  }

  Status add_macro(Block& block) {
    auto node = std::make_unique<MacroNode>();
    node->name = SLUICE_TRY(tokens_.expect_name());
    SLUICE_TRY(tokens_.expect_operator("("));
    while (!tokens_.skip_operator(")")) {
      std::string name = SLUICE_TRY(tokens_.expect_name());
      // Jinja wants parameters with defaults behind those without; here the order is free.
      ExpressionPtr fallback;
      if (tokens_.skip_operator("=")) fallback = SLUICE_TRY(expressions_.parse_one());
      node->parameters.emplace_back(std::move(name), std::move(fallback));
      if (!tokens_.peek().is_operator(")")) SLUICE_TRY(tokens_.expect_operator(","));
    }
    SLUICE_TRY(end_tag());
    node->body = SLUICE_TRY(parse_own_block("endmacro"));
    block.push_back(std::move(node));
    return end_tag();
  }

  /// A block that no `break` leaves: a loop around it is not its own.
  Result<Block> parse_own_block(std::string_view end) {
    const int loops = std::exchange(num_loops_, 0);
    Block body = SLUICE_TRY(parse_block({end}));
    num_loops_ = loops;
    return body;
  }

  /// Marks what training counts; for rendering its content stands there alone.
  Status add_generation(Block& block) {
    SLUICE_TRY(end_tag());
    Block body = SLUICE_TRY(parse_block({"endgeneration"}));
    for (auto& statement : body) block.push_back(std::move(statement));
    return end_tag();
  }

  Status add_flow(Block& block, Flow flow) {
    if (num_loops_ == 0) return tokens_.error("break and continue stand in a loop");
    auto node = std::make_unique<FlowNode>();
    node->flow = flow;
    block.push_back(std::move(node));
    return end_tag();
  }

  /// name, ns.field, or several with commas and perhaps brackets.
  Result<Target> parse_target() {
    Target target;
    std::vector<Target> parts;
    bool has_comma = false;
    do {
      if (tokens_.peek().is_operator("=") || tokens_.peek().is_name("in")) break;
      Target part = SLUICE_TRY(parse_one_target());
      parts.push_back(std::move(part));
    } while (tokens_.skip_operator(",") && (has_comma = true));
    // A comma makes a tuple, even of one name: `{% set a, = pair %}` takes a list of one element.
    if (parts.empty()) return tokens_.error("expected a name");
    if (!has_comma) return std::move(parts.front());
    target.parts = std::move(parts);
    return target;
  }

  Result<Target> parse_one_target() {
    Target target;
    if (!tokens_.skip_operator("(")) {
      target.name = SLUICE_TRY(tokens_.expect_name());
      if (tokens_.skip_operator(".")) target.field = SLUICE_TRY(tokens_.expect_name());
      return target;
    }
    if (num_tags_ == kMaxTags) return tokens_.error("names are nested too deep");
    ++num_tags_;
    target = SLUICE_TRY(parse_target());
    --num_tags_;
    SLUICE_TRY(tokens_.expect_operator(")"));
    return target;
  }

  Tokens tokens_;
  ExpressionParser expressions_;
  std::string end_;  ///< the name of the tag that ended the last block
  int num_tags_ = 0;
  int num_loops_ = 0;
};

}  // namespace

Result<Block> parse_template(std::string_view source) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
  if (source.size() > kMaxBytes) {
    return invalid_argument("the template has {} bytes; {} are the most", source.size(), kMaxBytes);
  }
  auto tokens = SLUICE_TRY(tokenize(source));
  return TemplateParser(Tokens(std::move(tokens))).run();
}

}  // namespace sluice::text::jinja
