// Values as text, as Python's str and json.dumps write them, and from JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "text/jinja/values/value.h"

namespace sluice::text::jinja {

/// As `{{ value }}` shows it: a text as it is, True, None, 1.0, ['a', 1], {'key': 'value'}.
/// Fails: kResourceExhausted for too long a text.
Result<std::string> to_text(const Value& value, Work& work);
/// Python's repr: a text stands in quotes.
Result<std::string> to_representation(const Value& value, Work& work);

struct JsonStyle {
  std::optional<std::int64_t> indent = {};  ///< absent: one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool is_ascii = false;  ///< other characters become \uXXXX
  bool sorts_keys = false;
};

/// Fails: kInvalidArgument for a value that JSON has not, such as an undefined one.
Result<std::string> to_json(const Value& value, const JsonStyle& style, Work& work);

/// Whole numbers beyond 64 bits become floats.
/// Fails: kInvalidArgument for text that is not UTF-8; kResourceExhausted for too much, too deep.
Result<Value> from_json(const nlohmann::ordered_json& json, Work& work, int depth = 0);

}  // namespace sluice::text::jinja
