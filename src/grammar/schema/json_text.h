// JSON as grammars write it.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "grammar/rules/character_set.h"
#include "grammar/rules/expression.h"

namespace sluice::grammar {

/// The value as text, without spaces. A string that is not UTF-8 has U+FFFD.
std::string json_of(const nlohmann::ordered_json& value);

/// Characters that stand for themselves within a string.
CharacterSet plain_characters();
/// One character of a string, of any or of these. One that needs an escape has its shortest.
Expression any_character();
Expression character_of(const CharacterSet& characters);
/// With the quotes.
Expression quoted(Expression content);

/// Rules that all schemas share; each is made when it is first asked for.
class JsonRules {
 public:
  explicit JsonRules(Rules& rules) : rules_(rules) {}

  /// Between two parts: nothing, a space, or a new line and up to 16 spaces or tabs. Models like to
  /// write on and on, and spaces have no end of their own.
  Expression space() { return find(space_, "space", &JsonRules::make_space); }
  Expression string() { return find(string_, "string", &JsonRules::make_string); }
  Expression number() { return find(number_, "number", &JsonRules::make_number); }
  Expression integer() { return find(integer_, "integer", &JsonRules::make_integer); }
  Expression object() { return find(object_, "object", &JsonRules::make_object); }
  Expression array() { return find(array_, "array", &JsonRules::make_array); }
  /// A value of any type.
  Expression value() { return find(value_, "value", &JsonRules::make_value); }

  /// "name": value. `key` has its quotes.
  Expression member(Expression key, Expression value);
  Expression comma();

 private:
  Expression find(RuleId& id, const char* name, Expression (JsonRules::*make)());
  Expression make_space();
  Expression make_string();
  Expression make_number();
  Expression make_integer();
  Expression make_object();
  Expression make_array();
  Expression make_value();
  Expression list_of(const char* open, const Expression& item, const char* close);

  Rules& rules_;
  RuleId space_, string_, number_, integer_, object_, array_, value_;
};

}  // namespace sluice::grammar
