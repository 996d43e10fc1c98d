#include "grammar/rules/expression.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::grammar {
namespace {

/// Limit of a rule's name: a schema has many, and their paths may be long.
constexpr std::size_t kMaxRuleNameBytes = 64;

std::string end_of(std::string_view name) {
  if (name.size() <= kMaxRuleNameBytes) return std::string(name);
  std::size_t begin = name.size() - kMaxRuleNameBytes;
  // Not within a character of UTF-8.
  while (begin < name.size() && (static_cast<std::uint8_t>(name[begin]) & 0xC0U) == 0x80) ++begin;
  return "..." + std::string(name.substr(begin));
}

}  // namespace

using Kind = Expression::Kind;

RuleId Rules::add(std::string_view name) {
  all.push_back({end_of(name), {}, false});
  return RuleId(all.size() - 1);
}

RuleId Rules::add(std::string_view name, Expression expression) {
  const RuleId id = add(name);
  (*this)[id].expression = std::move(expression);
  return id;
}

Expression literal(std::string bytes) { return {.kind = Kind::kText, .text = std::move(bytes)}; }

Expression one_of(CharacterSet characters) {
  return {.kind = Kind::kCharacter, .characters = std::move(characters)};
}

Expression sequence(std::vector<Expression> parts) {
  return {.kind = Kind::kSequence, .parts = std::move(parts)};
}

Expression choice(std::vector<Expression> parts) {
  return {.kind = Kind::kChoice, .parts = std::move(parts)};
}

Expression repeat(Expression part, std::int64_t least, std::optional<std::int64_t> most) {
  std::vector<Expression> parts;
  parts.push_back(std::move(part));
  return {.kind = Kind::kRepeat, .parts = std::move(parts), .least = least, .most = most};
}

Expression optional(Expression part) { return repeat(std::move(part), 0, 1); }

Expression call(RuleId rule) { return {.kind = Kind::kRule, .rule = rule}; }

}  // namespace sluice::grammar
