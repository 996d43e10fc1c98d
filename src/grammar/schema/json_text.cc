#include "grammar/schema/json_text.h"

#include <utility>
#include <vector>

namespace sluice::grammar {
namespace {

/// A double has 17 digits, and more only make a text longer.
constexpr std::int64_t kMoreDigits = 15;
constexpr std::int64_t kFractionDigits = 16;

const CharacterSet kDigits = {{'0', '9'}};
const CharacterSet kHexDigits = {{'0', '9'}, {'a', 'f'}, {'A', 'F'}};
/// Control characters, the quote and the backslash.
const CharacterSet kEscaped = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};

/// \u and four digits; a character beyond U+FFFF is two of them.
Expression unicode_escape() {
  const Expression hex = one_of(kHexDigits);
  const Expression prefix = literal("\\u");
  const Expression other = one_of(kHexDigits.without({{'d', 'd'}, {'D', 'D'}}));
  const Expression d = one_of({{'d', 'd'}, {'D', 'D'}});
  const Expression high = one_of({{'8', '9'}, {'a', 'b'}, {'A', 'B'}});
  const Expression low = one_of({{'c', 'f'}, {'C', 'F'}});
  return choice(
      {sequence({prefix, other, repeat(hex, 3, 3)}),
       sequence({prefix, d, one_of({{'0', '7'}}), repeat(hex, 2, 2)}),
       sequence({prefix, d, high, repeat(hex, 2, 2), prefix, d, low, repeat(hex, 2, 2)})});
}

}  // namespace

std::string json_of(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

CharacterSet plain_characters() { return kEscaped.negated(); }

Expression any_character() {
  const CharacterSet short_escapes = {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'},
                                      {'f', 'f'}, {'n', 'n'},   {'r', 'r'}, {'t', 't'}};
  return choice({one_of(plain_characters()), sequence({literal("\\"), one_of(short_escapes)}),
                 unicode_escape()});
}

Expression character_of(const CharacterSet& characters) {
  std::vector<Expression> parts;
  const CharacterSet plain = characters.without(kEscaped);
  if (!plain.is_empty()) parts.push_back(one_of(plain));
  const CharacterSet escaped = characters.within(kEscaped);
  for (const CharacterRange& range : escaped.ranges()) {
    for (char32_t c = range.first; c <= range.last; ++c) {
      const std::string quoted = json_of(std::string(1, static_cast<char>(c)));
      parts.push_back(literal(quoted.substr(1, quoted.size() - 2)));
    }
  }
  // Without any character nothing fits.
  return parts.empty() ? one_of({}) : choice(std::move(parts));
}

Expression quoted(Expression content) {
  return sequence({literal("\""), std::move(content), literal("\"")});
}

Expression JsonRules::find(RuleId& id, const char* name, Expression (JsonRules::*make)()) {
  if (!id.is_valid()) {
    id = rules_.add(name);
    Expression made = (this->*make)();
    rules_[id].expression = std::move(made);
  }
  return call(id);
}

Expression JsonRules::make_space() {
  const Expression indent = repeat(one_of({{' ', ' '}, {'\t', '\t'}}), 0, 16);
  return choice({literal(""), literal(" "), sequence({literal("\n"), indent})});
}

Expression JsonRules::make_string() { return quoted(repeat(any_character(), 0, std::nullopt)); }

Expression JsonRules::make_integer() {
  return sequence({optional(literal("-")),
                   choice({literal("0"), sequence({one_of({{'1', '9'}}),
                                                   repeat(one_of(kDigits), 0, kMoreDigits)})})});
}

Expression JsonRules::make_number() {
  const Expression fraction = sequence({literal("."), repeat(one_of(kDigits), 1, kFractionDigits)});
  const Expression exponent =
      sequence({one_of({{'e', 'e'}, {'E', 'E'}}), optional(one_of({{'+', '+'}, {'-', '-'}})),
                repeat(one_of(kDigits), 1, 2)});
  return sequence({integer(), optional(fraction), optional(exponent)});
}

Expression JsonRules::member(Expression key, Expression value) {
  return sequence({std::move(key), literal(":"), space(), std::move(value)});
}

Expression JsonRules::comma() { return sequence({literal(","), space()}); }

Expression JsonRules::list_of(const char* open, const Expression& item, const char* close) {
  const Expression more = repeat(sequence({comma(), item}), 0, std::nullopt);
  return choice({sequence({literal(open), space(), literal(close)}),
                 sequence({literal(open), space(), item, more, space(), literal(close)})});
}

Expression JsonRules::make_object() { return list_of("{", member(string(), value()), "}"); }

Expression JsonRules::make_array() { return list_of("[", value(), "]"); }

Expression JsonRules::make_value() {
  return choice(
      {object(), array(), string(), number(), literal("true"), literal("false"), literal("null")});
}

}  // namespace sluice::grammar
