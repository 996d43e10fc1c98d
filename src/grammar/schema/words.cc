#include "grammar/schema/words.h"

#include <algorithm>
#include <array>

namespace sluice::grammar {
namespace {

constexpr std::int64_t kMaxCount = 1 << 17;

/// All words of drafts 7 to 2020-12 and of OpenAPI that say what is valid.
constexpr std::array<std::string_view, 44> kAssertions = {"$dynamicRef",
                                                          "$recursiveRef",
                                                          "$ref",
                                                          "additionalItems",
                                                          "additionalProperties",
                                                          "allOf",
                                                          "anyOf",
                                                          "const",
                                                          "contains",
                                                          "dependencies",
                                                          "dependentRequired",
                                                          "dependentSchemas",
                                                          "else",
                                                          "enum",
                                                          "exclusiveMaximum",
                                                          "exclusiveMinimum",
                                                          "format",
                                                          "if",
                                                          "items",
                                                          "maxContains",
                                                          "maxItems",
                                                          "maxLength",
                                                          "maxProperties",
                                                          "maximum",
                                                          "minContains",
                                                          "minItems",
                                                          "minLength",
                                                          "minProperties",
                                                          "minimum",
                                                          "multipleOf",
                                                          "not",
                                                          "nullable",
                                                          "oneOf",
                                                          "pattern",
                                                          "patternProperties",
                                                          "prefixItems",
                                                          "properties",
                                                          "propertyNames",
                                                          "required",
                                                          "then",
                                                          "type",
                                                          "unevaluatedItems",
                                                          "unevaluatedProperties",
                                                          "uniqueItems"};

}  // namespace

bool is_annotation(std::string_view word) {
  return std::ranges::find(kAssertions, word) == kAssertions.end();
}

bool is_alone(const nlohmann::ordered_json& schema, std::string_view word) {
  return std::ranges::all_of(schema.items(), [&](const auto& item) {
    return item.key() == word || is_annotation(item.key());
  });
}

Result<std::optional<std::int64_t>> count_of(const nlohmann::ordered_json& schema, const char* word,
                                             const std::string& path) {
  const auto found = schema.find(word);
  if (found == schema.end()) return std::optional<std::int64_t>();
  const bool is_count = found->is_number_unsigned() || (found->is_number_integer() && *found >= 0);
  if (!is_count) {
    return invalid_argument("{}: \"{}\" is no whole number of at least 0", path, word);
  }
  if (*found > kMaxCount) {
    return invalid_argument("{}: \"{}\" is at most {}", path, word, kMaxCount);
  }
  return std::optional(found->get<std::int64_t>());
}

Status check_order(std::int64_t least, std::optional<std::int64_t> most, const char* what,
                   const std::string& path) {
  if (!most || least <= *most) return ok_status();
  return invalid_argument("{}: at least {} and at most {} {}: nothing fits", path, least, *most,
                          what);
}

}  // namespace sluice::grammar
