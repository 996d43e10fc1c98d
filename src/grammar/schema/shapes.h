// Objects and arrays of a schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grammar/rules/expression.h"
#include "grammar/schema/json_text.h"

namespace sluice::grammar {

struct ObjectShape {
  struct Property {
    std::string name;
    Expression value;
    bool is_required = false;
  };
  std::vector<Property> properties;
  std::optional<Expression> others;  ///< values of other names; absent: there are none
  std::optional<Expression> name;    ///< of others, with quotes; absent: any
  std::int64_t least_others = 0;
  std::optional<std::int64_t> most_others;
};

/// Properties come in their order, then others, whose names have no escapes. `name`: of its rules.
Expression object_of(const ObjectShape& shape, const std::string& name, Rules& rules,
                     JsonRules& json);

struct ArrayShape {
  std::vector<Expression> first;   ///< of each of the first items
  std::optional<Expression> rest;  ///< of those behind them; absent: there are none
  std::int64_t least = 0;
  std::optional<std::int64_t> most;
};

Expression array_of(const ArrayShape& shape, JsonRules& json);

/// Some of the values, as JSON text, in their order, as many as the shape says. `name`: of its
/// rules.
Expression each_once(const std::vector<std::string>& values, const ArrayShape& shape,
                     const std::string& name, Rules& rules, JsonRules& json);

}  // namespace sluice::grammar
