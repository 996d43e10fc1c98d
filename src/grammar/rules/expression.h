// Rules of a grammar as trees: what readers of grammars and schemas write, and automata are made
// of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "grammar/rules/character_set.h"

namespace sluice::grammar {

struct RuleTag;
using RuleId = Id<RuleTag>;

struct Expression {
  enum class Kind { kText, kCharacter, kSequence, kChoice, kRepeat, kRule };

  Kind kind = Kind::kText;
  std::string text = {};               ///< kText: these bytes, perhaps none
  CharacterSet characters = {};        ///< kCharacter: one of them
  std::vector<Expression> parts = {};  ///< of kSequence and kChoice; one of kRepeat
  std::int64_t least = 0;              ///< kRepeat: so many of the part
  std::optional<std::int64_t> most = {};
  RuleId rule = {};  ///< kRule
};

Expression literal(std::string bytes);
Expression one_of(CharacterSet characters);
Expression sequence(std::vector<Expression> parts);
/// Requires: at least one part.
Expression choice(std::vector<Expression> parts);
Expression repeat(Expression part, std::int64_t least, std::optional<std::int64_t> most);
Expression optional(Expression part);
Expression call(RuleId rule);

struct Rule {
  std::string name;  ///< for messages: the end of a long one
  Expression expression;
  /// Its automaton stands in place of each call: for what is small and calls nothing.
  bool is_inlined = false;
};

struct Rules {
  std::vector<Rule> all;
  RuleId root;

  /// To be defined later, and called before.
  RuleId add(std::string_view name);
  RuleId add(std::string_view name, Expression expression);
  Rule& operator[](RuleId id) { return all[id.index()]; }
  const Rule& operator[](RuleId id) const { return all[id.index()]; }
};

}  // namespace sluice::grammar
