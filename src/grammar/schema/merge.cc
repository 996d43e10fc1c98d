#include "grammar/schema/merge.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "grammar/schema/words.h"

namespace sluice::grammar {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kLowerBounds = {"exclusiveMinimum", "minItems",
                                                          "minLength", "minProperties", "minimum"};
constexpr std::array<std::string_view, 5> kUpperBounds = {"exclusiveMaximum", "maxItems",
                                                          "maxLength", "maxProperties", "maximum"};

template <std::size_t Size>
bool is_among(const std::array<std::string_view, Size>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

Json as_list(const Json& value) { return value.is_array() ? value : Json::array({value}); }

bool has(const Json& list, const Json& value) {
  return std::ranges::find(list, value) != list.end();
}

Json types_of_both(const Json& of_first, const Json& of_second) {
  const Json a = as_list(of_first);
  const Json b = as_list(of_second);
  Json both = Json::array();
  for (const Json& type : a) {
    if (has(b, type) || (type == "integer" && has(b, "number"))) both.push_back(type);
  }
  for (const Json& type : b) {
    if (type == "integer" && has(a, "number") && !has(a, "integer")) both.push_back(type);
  }
  return both;
}

void merge_properties(Json& into, const Json& others) {
  for (const auto& [name, schema] : others.items()) {
    const auto found = into.find(name);
    if (found == into.end()) {
      into[name] = schema;
    } else if (*found != schema) {
      Json both = {{"allOf", Json::array({*found, schema})}};
      *found = std::move(both);
    }
  }
}

/// False where the two values cannot be one.
bool merge_word(const std::string& word, Json& value, const Json& other) {
  if (word == "type") {
    value = types_of_both(value, other);
    return true;
  }
  const bool are_numbers = value.is_number() && other.is_number();
  if (are_numbers && is_among(kLowerBounds, word)) {
    if (value < other) value = other;
    return true;
  }
  if (are_numbers && is_among(kUpperBounds, word)) {
    if (other < value) value = other;
    return true;
  }
  if (word == "properties" && value.is_object() && other.is_object()) {
    merge_properties(value, other);
    return true;
  }
  const bool are_lists = value.is_array() && other.is_array();
  if (word == "enum" && are_lists) {
    Json both = Json::array();
    for (const Json& one : value) {
      if (has(other, one)) both.push_back(one);
    }
    value = std::move(both);
    return true;
  }
  if ((word != "required" && word != "allOf") || !are_lists) return false;
  for (const Json& one : other) {
    if (word == "allOf" || !has(value, one)) value.push_back(one);
  }
  return true;
}

/// Names that one of them does not know, the other's additionalProperties would refuse or bind.
bool closes(const Json& schema, const Json& other) {
  const auto others = schema.find("additionalProperties");
  return others != schema.end() && *others != true && other.contains("properties");
}

/// Values within it, itself, and the 64 bytes of their texts and names.
std::size_t size_of(const Json& value) {
  constexpr std::size_t kTextBytes = 64;
  std::size_t size = 1;
  if (value.is_string()) size += value.get_ref<const std::string&>().size() / kTextBytes;
  for (auto part = value.begin(); value.is_structured() && part != value.end(); ++part) {
    size += size_of(*part) + (value.is_object() ? part.key().size() / kTextBytes : 0);
  }
  return size;
}

/// Work of merge_word: each value of one list, or name of one object, is looked for in the other.
std::size_t work_of(const std::string& word, const Json& value, const Json& other) {
  const std::size_t num_both = value.size() + other.size();
  if (value.is_array() && other.is_array() && word != "allOf") return num_both * size_of(other);
  if (value.is_object() && other.is_object()) return num_both * other.size();
  return 0;
}

}  // namespace

Status Merger::spend(std::size_t work, const std::string& path) {
  work_ += work;
  if (work_ <= kMaxWork) return ok_status();
  return invalid_argument("{}: schemas that are merged here are too large", path);
}

Result<Json> Merger::merge(const Json& schema, const Json& other, const std::string& path) {
  SLUICE_TRY(spend(size_of(schema) + size_of(other) + schema.size() * other.size(), path));
  if (closes(schema, other) || closes(other, schema)) {
    return unimplemented(
        "{}: \"additionalProperties\" beside properties of another schema is not "
        "supported",
        path);
  }
  Json made = schema;
  for (const auto& [word, value] : other.items()) {
    if (is_annotation(word)) continue;
    const auto found = made.find(word);
    if (found == made.end()) {
      made[word] = value;
      continue;
    }
    if (*found == value) continue;
    SLUICE_TRY(spend(work_of(word, *found, value), path));
    if (!merge_word(word, *found, value)) {
      return unimplemented("{}: two schemas that differ in \"{}\" are not supported as one", path,
                           word);
    }
  }
  return made;
}

}  // namespace sluice::grammar
