#include "grammar/gbnf.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "grammar/rules/scanner.h"
#include "text/unicode/characters.h"

namespace sluice::grammar {
namespace {

constexpr std::size_t kMaxGrammarBytes = std::size_t{256} << 10U;
constexpr int kMaxGroups = 64;
constexpr int kMaxRepeats = 8;
constexpr const char* kRoot = "root";

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfReader {
 public:
  explicit GbnfReader(std::string_view text) : scanner_(text) {}

  Result<Rules> read() {
    pass_space(true);
    while (!scanner_.is_at_end()) SLUICE_TRY(read_rule());
    for (const auto& [name, id] : ids_) {
      if (!is_defined_[id.index()]) {
        return invalid_argument("the grammar has no rule \"{}\"", name);
      }
    }
    const auto root = ids_.find(kRoot);
    if (root == ids_.end()) return invalid_argument("the grammar has no rule \"{}\"", kRoot);
    rules_.root = root->second;
    for (Rule& rule : rules_.all) rule.is_inlined = is_small(rule.expression);
    rules_[rules_.root].is_inlined = false;
    return std::move(rules_);
  }

 private:
  /// One character, as in `digit ::= [0-9]`: strings of such rules are walked as one.
  static bool is_small(const Expression& expression) {
    const auto* only = &expression;
    while (only->kind == Expression::Kind::kSequence && only->parts.size() == 1) {
      only = &only->parts.front();
    }
    return only->kind == Expression::Kind::kCharacter;
  }

  void pass_space(bool with_lines) {
    while (true) {
      if (scanner_.peek() == '#') {
        while (!scanner_.is_at_end() && scanner_.peek() != '\n') scanner_.take_character();
      }
      const bool passed = scanner_.take(" ") || scanner_.take("\t") ||
                          (with_lines && (scanner_.take("\n") || scanner_.take("\r")));
      if (!passed && !(with_lines && scanner_.peek() == '#')) return;
    }
  }

  RuleId rule_of(std::string_view name) {
    const auto [entry, is_new] = ids_.try_emplace(std::string(name));
    if (is_new) {
      entry->second = rules_.add(entry->first);
      is_defined_.push_back(false);
    }
    return entry->second;
  }

  Result<std::string_view> read_name() {
    const std::size_t begin = scanner_.at();
    while (is_name(scanner_.peek())) scanner_.take_character();
    const std::string_view name = scanner_.since(begin);
    if (name.empty()) return scanner_.error("expected the name of a rule");
    return name;
  }

  Status read_rule() {
    const std::string_view name = SLUICE_TRY(read_name());
    pass_space(false);
    if (!scanner_.take("::=")) return scanner_.error("expected ::= behind \"{}\"", name);
    const RuleId rule = rule_of(name);
    if (is_defined_[rule.index()]) return scanner_.error("\"{}\" is a rule twice", name);
    is_defined_[rule.index()] = true;
    pass_space(true);
    Expression expression = SLUICE_TRY(read_choice(0));
    rules_[rule].expression = std::move(expression);
    return ok_status();
  }

  /// Behind it lies no space.
  Result<Expression> read_choice(int depth) {
    if (depth > kMaxGroups)
      return scanner_.error("more than {} groups lie in each other", kMaxGroups);
    std::vector<Expression> parts;
    do {
      pass_space(true);
      parts.push_back(SLUICE_TRY(read_sequence(depth)));
      pass_space(true);
    } while (scanner_.take("|"));
    return parts.size() == 1 ? std::move(parts.front()) : choice(std::move(parts));
  }

  /// Up to the end of the line, if it is in no group.
  Result<Expression> read_sequence(int depth) {
    std::vector<Expression> parts;
    while (true) {
      const char c = scanner_.peek();
      const bool is_over = scanner_.is_at_end() || c == '|' || c == ')' || c == '\n' || c == '\r';
      if (is_over) return sequence(std::move(parts));
      Expression item = SLUICE_TRY(read_item(depth));
      parts.push_back(SLUICE_TRY(read_times(std::move(item))));
      pass_space(depth > 0);
    }
  }

  Result<Expression> read_item(int depth) {
    if (scanner_.take("\"")) return read_text();
    if (scanner_.take("[")) return read_class();
    if (scanner_.take(".")) return one_of(CharacterSet::all());
    if (scanner_.take("(")) {
      Expression group = SLUICE_TRY(read_choice(depth + 1));
      if (!scanner_.take(")")) return scanner_.error("expected ) at the end of the group");
      return group;
    }
    if (scanner_.peek() == '<' || scanner_.peek() == '!') {
      return scanner_.error("tokens in a grammar are not supported; write their text");
    }
    const std::string_view name = SLUICE_TRY(read_name());
    return call(rule_of(name));
  }

  Result<Expression> read_times(Expression item) {
    for (int times = 0; times <= kMaxRepeats; ++times) {
      pass_space(false);
      if (scanner_.take("*")) {
        item = repeat(std::move(item), 0, std::nullopt);
      } else if (scanner_.take("+")) {
        item = repeat(std::move(item), 1, std::nullopt);
      } else if (scanner_.take("?")) {
        item = optional(std::move(item));
      } else if (scanner_.take("{")) {
        const Count count = SLUICE_TRY(read_count(scanner_));
        item = repeat(std::move(item), count.least, count.most);
      } else {
        return item;
      }
    }
    return scanner_.error("more than {} repetitions of each other", kMaxRepeats);
  }

  Result<char32_t> read_character() {
    if (scanner_.is_at_end()) return scanner_.error("the grammar ends within a text or a class");
    if (!scanner_.take("\\")) return scanner_.take_character();
    if (scanner_.take("x")) return scanner_.take_hex(2);
    if (scanner_.take("u")) return scanner_.take_hex(4);
    if (scanner_.take("U")) return scanner_.take_hex(8);
    if (scanner_.take("n")) return U'\n';
    if (scanner_.take("r")) return U'\r';
    if (scanner_.take("t")) return U'\t';
    const char c = scanner_.peek();
    if (c == '\0' || std::string_view("\\\"[]-^").find(c) == std::string_view::npos) {
      return scanner_.error("no character is written \\{}", c == '\0' ? ' ' : c);
    }
    return scanner_.take_character();
  }

  Result<Expression> read_text() {
    std::string bytes;
    while (!scanner_.take("\"")) {
      const char32_t c = SLUICE_TRY(read_character());
      text::append_character(bytes, c);
    }
    return literal(std::move(bytes));
  }

  Result<Expression> read_class() {
    const bool is_negated = scanner_.take("^");
    CharacterSet characters;
    while (!scanner_.take("]")) {
      const char32_t first = SLUICE_TRY(read_character());
      char32_t last = first;
      if (scanner_.sees("-") && !scanner_.sees("-]")) {
        scanner_.take("-");
        last = SLUICE_TRY(read_character());
      }
      if (last < first) return scanner_.error("a range of characters ends before it begins");
      characters.add({first, last});
    }
    return one_of(is_negated ? characters.negated() : characters);
  }

  Scanner scanner_;
  Rules rules_;
  std::map<std::string, RuleId, std::less<>> ids_;
  std::vector<bool> is_defined_;
};

}  // namespace

Result<Rules> read_gbnf(std::string_view text) {
  if (text.size() > kMaxGrammarBytes) {
    return invalid_argument("the grammar has {} bytes; at most {} are read", text.size(),
                            kMaxGrammarBytes);
  }
  SLUICE_TRY(text::check_utf8(text));
  return GbnfReader(without_mark(text)).read();
}

}  // namespace sluice::grammar
