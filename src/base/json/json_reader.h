// Checked access to the fields of a JSON text; every message has the position of the error.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

/// Fails: kInvalidArgument with line, column and the expected token. Numbers keep 64 bits.
Result<nlohmann::json> parse_json(std::string_view text);

/// The same of a text from outside: objects keep the order of their fields.
/// Fails: also for more than `max_depth` lists and objects within each other.
Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text, int max_depth);

/// A value of a JSON text and its path: "devices[2].cores". Borrows the value.
class JsonValue {
 public:
  JsonValue(const nlohmann::json& value, std::string path)
      : value_(&value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  /// Whether an object has the field.
  bool has(std::string_view name) const;
  /// A required field of an object. Fails: kInvalidArgument if it is missing.
  Result<JsonValue> field(std::string_view name) const;
  /// The field as an integer; the fallback if it is absent. Fails: as `field` and `as_int`.
  Result<std::int64_t> int_or(std::string_view name, std::int64_t fallback, std::int64_t least,
                              std::int64_t most) const;
  Result<std::string> text_or(std::string_view name, std::string_view fallback) const;
  /// The elements of a list; none if the field is absent.
  Result<std::vector<JsonValue>> items_or_none(std::string_view name, std::size_t most) const;

  Result<std::int64_t> as_int(std::int64_t least, std::int64_t most) const;
  Result<bool> as_bool() const;
  /// At most 1024 bytes.
  Result<std::string> as_text() const;
  /// At most `most` elements.
  Result<std::vector<JsonValue>> as_items(std::size_t most) const;

 private:
  Status wrong_type(std::string_view expected) const;

  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace sluice
