// A place that "$ref" names is a rule, and waits in a queue: chains of references of any length
// take no recursion, and a schema may refer to itself.
#include "grammar/schema/read_schema.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json_reader.h"
#include "grammar/schema/json_text.h"
#include "grammar/schema/merge.h"
#include "grammar/schema/numbers.h"
#include "grammar/schema/pointer.h"
#include "grammar/schema/shapes.h"
#include "grammar/schema/strings.h"
#include "grammar/schema/words.h"

namespace sluice::grammar {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxSchemaBytes = std::size_t{256} << 10U;
constexpr int kMaxSchemaDepth = 64;
constexpr int kMaxReferences = 32;  ///< from one to the next, where schemas are merged
constexpr int kMaxMerges = 512;     ///< each copies a part of the schema
constexpr int kMaxSchemas = 1 << 16;
constexpr std::size_t kMaxFirstItems = 256;
constexpr std::size_t kMaxUniqueItems = 32;     ///< each has a rule for each count
constexpr std::size_t kMaxNameBytes = 256;      ///< of a property
constexpr std::size_t kMaxPointerBytes = 4096;  ///< each path within what it names begins with it

struct Words {
  const char* type;
  std::vector<std::string_view> words;
};
/// Words that speak of values of one type. A value of another type is valid whatever they say.
const std::vector<Words>& words_by_type() {
  static const std::vector<Words> kWords = {
      {"object",
       {"properties", "required", "additionalProperties", "patternProperties", "propertyNames",
        "minProperties", "maxProperties"}},
      {"array", {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
      {"string", {"minLength", "maxLength", "pattern", "format"}},
      {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}}};
  return kWords;
}
constexpr std::array<std::string_view, 8> kOtherWords = {"$ref", "allOf", "anyOf",    "const",
                                                         "enum", "oneOf", "nullable", "type"};
constexpr std::array<std::string_view, 7> kTypes = {"array",  "boolean", "integer", "null",
                                                    "number", "object",  "string"};

bool is_of_type(const Json& value, std::string_view type) {
  if (type == "array") return value.is_array();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type == "object") return value.is_object();
  return value.is_string();
}

class SchemaReader {
 public:
  SchemaReader(Json root, Strictness strictness)
      : root_(std::move(root)), strictness_(strictness), json_(rules_) {}

  Result<Rules> read() {
    rules_.root = rule_of("#");
    while (!waiting_.empty()) {
      const std::string pointer = std::move(waiting_.front());
      waiting_.pop_front();
      const Json* schema = SLUICE_TRY(find_pointer(root_, pointer));
      Expression expression = SLUICE_TRY(read_schema(*schema, pointer, 0));
      rules_[rules_by_pointer_[pointer]].expression = std::move(expression);
    }
    return std::move(rules_);
  }

 private:
  RuleId rule_of(const std::string& pointer) {
    const auto [entry, is_new] = rules_by_pointer_.try_emplace(pointer);
    if (is_new) {
      entry->second = rules_.add(pointer);
      waiting_.push_back(pointer);
    }
    return entry->second;
  }

  template <typename... Args>
  static Status wrong(const std::string& path, fmt::format_string<Args...> format, Args&&... args) {
    return invalid_argument("{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
  }

  bool is_loose() const { return strictness_ == Strictness::kLoose; }

  Status check_words(const Json& schema, const std::string& path) const {
    if (is_loose()) return ok_status();
    for (const auto& [word, value] : schema.items()) {
      bool is_known =
          is_annotation(word) || std::ranges::find(kOtherWords, word) != kOtherWords.end();
      for (const Words& of_type : words_by_type()) {
        is_known = is_known || std::ranges::find(of_type.words, word) != of_type.words.end();
      }
      if (!is_known) return unimplemented("{}: the word \"{}\" is not supported", path, word);
    }
    return ok_status();
  }

  Result<Expression> read_schema(const Json& schema, const std::string& path, int depth) {
    if (++num_schemas_ > kMaxSchemas || depth > 2 * kMaxSchemaDepth) {
      return invalid_argument("{}: the schema is too large", path);
    }
    if (schema == true) return json_.value();
    if (schema == false) return one_of({});  // nothing fits
    if (!schema.is_object()) return wrong(path, "a schema is an object, true or false");
    SLUICE_TRY(check_words(schema, path));
    if (schema.contains("$ref")) return read_reference(schema, path, depth);
    if (schema.contains("allOf")) {
      const Json merged = SLUICE_TRY(merge_all(schema, path));
      return read_schema(merged, path, depth + 1);
    }
    if (schema.contains("anyOf")) return read_branches(schema, "anyOf", path, depth);
    if (schema.contains("oneOf")) return read_branches(schema, "oneOf", path, depth);
    if (schema.contains("const") || schema.contains("enum")) return read_constants(schema, path);
    return read_types(schema, path, depth);
  }

  // ---- schemas that stand for others
  // -------------------------------------------------------------

  Result<Expression> read_reference(const Json& schema, const std::string& path, int depth) {
    if (is_alone(schema, "$ref")) {
      const std::string pointer = SLUICE_TRY(pointer_of(schema, path));
      return call(rule_of(pointer));
    }
    const Json resolved = SLUICE_TRY(resolve(schema, path));
    return read_schema(resolved, path, depth + 1);
  }

  Result<std::string> pointer_of(const Json& schema, const std::string& path) const {
    const Json& reference = schema["$ref"];
    if (!reference.is_string()) return wrong(path, "\"$ref\" is no text");
    const auto& text = reference.get_ref<const std::string&>();
    if (!text.starts_with('#')) {
      return unimplemented(
          "{}: \"$ref\" to \"{}\": only references within the schema are supported", path, text);
    }
    if (text.size() > kMaxPointerBytes) {
      return invalid_argument("{}: \"$ref\" has more than {} bytes", path, kMaxPointerBytes);
    }
    auto found = find_pointer(root_, text);
    const Json* target = SLUICE_TRY(std::move(found).with_context(path));
    static_cast<void>(target);
    return text;
  }

  /// Without "$ref": what it names takes its place.
  Result<Json> resolve(Json schema, const std::string& path) {
    for (int i = 0; schema.is_object() && schema.contains("$ref"); ++i) {
      if (i == kMaxReferences) return wrong(path, "\"$ref\" leads from one to the next for ever");
      const std::string pointer = SLUICE_TRY(pointer_of(schema, path));
      const Json* target = SLUICE_TRY(find_pointer(root_, pointer));
      schema.erase("$ref");
      if (!target->is_object()) return wrong(path, "{} is no object", pointer);
      Json other = *target;
      // One of both may have a reference of its own, which is next.
      const auto next = other.find("$ref");
      Json reference;
      if (next != other.end()) {
        reference = std::move(*next);
        other.erase("$ref");
      }
      schema = SLUICE_TRY(merge_two(other, schema, path));
      if (!reference.is_null()) schema["$ref"] = std::move(reference);
    }
    return schema;
  }

  Result<Json> merge_two(const Json& schema, const Json& other, const std::string& path) {
    if (++num_merges_ > kMaxMerges) {
      return invalid_argument("{}: too many schemas are merged", path);
    }
    return merger_.merge(schema, other, path);
  }

  static Result<std::vector<Json>> list_of(const Json& schema, const char* word,
                                           const std::string& path) {
    const Json& list = schema[word];
    if (!list.is_array() || list.empty()) return wrong(path, "\"{}\" is no list of schemas", word);
    return std::vector<Json>(list.begin(), list.end());
  }

  Result<Json> merge_all(const Json& schema, const std::string& path) {
    Json merged = schema;
    merged.erase("allOf");
    merged = SLUICE_TRY(resolve(std::move(merged), path));
    const auto parts = SLUICE_TRY(list_of(schema, "allOf", path));
    for (const Json& part : parts) {
      if (part == true) continue;
      if (!part.is_object()) return wrong(path, "\"allOf\" has what is no object");
      const Json resolved = SLUICE_TRY(resolve(part, path + "/allOf"));
      merged = SLUICE_TRY(merge_two(merged, resolved, path + "/allOf"));
    }
    return merged;
  }

  /// What stands beside the branches is a part of each.
  Result<Expression> read_branches(const Json& schema, const char* word, const std::string& path,
                                   int depth) {
    std::vector<Expression> parts;
    Json beside = schema;
    beside.erase(word);
    const bool is_nullable = beside.contains("nullable") && beside["nullable"] == true;
    beside.erase("nullable");
    const auto branches = SLUICE_TRY(list_of(schema, word, path));
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const std::string of_branch = fmt::format("{}/{}/{}", path, word, i);
      Json branch = branches[i];
      if (!is_alone(beside, "") && branch.is_object()) {
        branch = SLUICE_TRY(resolve(std::move(branch), of_branch));
        branch = SLUICE_TRY(merge_two(beside, branch, of_branch));
      } else if (!is_alone(beside, "") && branch == true) {
        branch = beside;
      }
      parts.push_back(SLUICE_TRY(read_schema(branch, of_branch, depth + 1)));
    }
    if (is_nullable) parts.push_back(literal("null"));
    return choice(std::move(parts));
  }

  // ---- values
  // ------------------------------------------------------------------------------------

  Result<Expression> read_constants(const Json& schema, const std::string& path) {
    for (const auto& [word, value] : schema.items()) {
      const bool is_fine = is_loose() || is_annotation(word) || word == "const" || word == "enum" ||
                           word == "type" || word == "nullable";
      if (!is_fine) {
        return unimplemented("{}: \"{}\" beside \"enum\" or \"const\" is not supported", path,
                             word);
      }
    }
    Json values = schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]});
    if (!values.is_array() || values.empty()) return wrong(path, "\"enum\" is no list of values");
    const bool has_both = schema.contains("enum") && schema.contains("const");
    const auto types = SLUICE_TRY(types_of(schema, path));
    std::vector<Expression> parts;
    for (const Json& value : values) {
      if (has_both && value != schema["const"]) continue;
      const bool fits = std::ranges::any_of(
          types, [&](const std::string& type) { return is_of_type(value, type); });
      if (fits || types.empty()) parts.push_back(literal(json_of(value)));
    }
    if (schema.contains("nullable") && schema["nullable"] == true) parts.push_back(literal("null"));
    if (parts.empty()) return wrong(path, "no value of \"enum\" is of its type");
    return choice(std::move(parts));
  }

  /// Empty without the word.
  static Result<std::vector<std::string>> types_of(const Json& schema, const std::string& path) {
    std::vector<std::string> types;
    const auto found = schema.find("type");
    if (found == schema.end()) return types;
    const Json list = found->is_array() ? *found : Json::array({*found});
    for (const Json& type : list) {
      const bool is_known =
          type.is_string() &&
          std::ranges::find(kTypes, type.get_ref<const std::string&>()) != kTypes.end();
      if (!is_known) return wrong(path, "\"type\": {} is no type", json_of(type));
      const auto& name = type.get_ref<const std::string&>();
      if (std::ranges::find(types, name) == types.end()) types.push_back(name);
    }
    if (types.empty()) return wrong(path, "no type is left: a value would have none");
    return types;
  }

  Result<Expression> read_types(const Json& schema, const std::string& path, int depth) {
    auto types = SLUICE_TRY(types_of(schema, path));
    if (types.empty()) types = types_of_words(schema);
    if (types.empty()) return json_.value();
    std::vector<Expression> parts;
    for (const std::string& type : types) {
      Expression part = SLUICE_TRY(read_type(schema, type, path, depth));
      parts.push_back(std::move(part));
    }
    if (schema.contains("nullable") && schema["nullable"] == true) parts.push_back(literal("null"));
    return choice(std::move(parts));
  }

  static std::vector<std::string> types_of_words(const Json& schema) {
    std::vector<std::string> types;
    for (const Words& of_type : words_by_type()) {
      const bool has_one = std::ranges::any_of(
          of_type.words, [&](std::string_view word) { return schema.contains(std::string(word)); });
      if (has_one) types.emplace_back(of_type.type);
    }
    return types;
  }

  Result<Expression> read_type(const Json& schema, const std::string& type, const std::string& path,
                               int depth) {
    if (type == "object") return read_object(schema, path, depth);
    if (type == "array") return read_array(schema, path, depth);
    if (type == "string") return string_of(schema, path, strictness_, rules_, json_);
    if (type == "null") return literal("null");
    if (type == "boolean") return choice({literal("true"), literal("false")});
    return read_number(schema, type == "integer", path);
  }

  /// Numbers of a grammar have at most 16 digits ahead of the point.
  static constexpr double kBeyondNumbers = 1e17;

  static Result<std::optional<Bound>> bound_of(const Json& schema, const char* word,
                                               const char* excluding, int sign,
                                               const std::string& path) {
    std::optional<Bound> bound;
    for (const char* name : {word, excluding}) {
      const auto found = schema.find(name);
      if (found == schema.end()) continue;
      if (!found->is_number()) return wrong(path, "\"{}\" is no number", name);
      if (-sign * found->get<double>() >= kBeyondNumbers) continue;
      auto read = Decimal::read(*found);
      Decimal value = SLUICE_TRY(std::move(read).with_context(path));
      const bool is_excluded = name == excluding;
      const int order = bound ? sign * compare(value, bound->value) : 1;
      if (order > 0 || (order == 0 && is_excluded)) bound = Bound{std::move(value), is_excluded};
    }
    return bound;
  }

  Result<Expression> read_number(const Json& schema, bool is_whole, const std::string& path) {
    if (const auto multiple = schema.find("multipleOf"); multiple != schema.end()) {
      if (!multiple->is_number()) return wrong(path, "\"multipleOf\" is no number");
      if (*multiple != 1 && !is_loose()) {
        return unimplemented("{}: the word \"multipleOf\" is supported for 1 alone", path);
      }
      is_whole = is_whole || *multiple == 1;
    }
    NumberRange range;
    range.least = SLUICE_TRY(bound_of(schema, "minimum", "exclusiveMinimum", 1, path));
    range.most = SLUICE_TRY(bound_of(schema, "maximum", "exclusiveMaximum", -1, path));
    if (range.is_all()) return is_whole ? json_.integer() : json_.number();
    if (range.least && range.most && compare(range.least->value, range.most->value) > 0) {
      return wrong(path, "the minimum is above the maximum: no number fits");
    }
    return call(rules_.add(path, number_in(range, is_whole)));
  }

  /// A rule, so that a list of them has it once.
  Result<Expression> read_part(const Json& schema, const std::string& path, int depth) {
    Expression part = SLUICE_TRY(read_schema(schema, path, depth + 1));
    if (part.kind == Expression::Kind::kRule) return part;
    return call(rules_.add(path, std::move(part)));
  }

  Result<Expression> read_array(const Json& schema, const std::string& path, int depth) {
    ArrayShape shape;
    shape.least = SLUICE_TRY(count_of(schema, "minItems", path)).value_or(0);
    shape.most = SLUICE_TRY(count_of(schema, "maxItems", path));
    SLUICE_TRY(check_order(shape.least, shape.most, "items", path));
    if (schema.contains("uniqueItems") && schema["uniqueItems"] == true && shape.most != 1) {
      const auto values = SLUICE_TRY(listed_items(schema, path));
      if (values) return call(rules_.add(path, each_once(*values, shape, path, rules_, json_)));
      if (!is_loose()) {
        return unimplemented(
            "{}: the word \"uniqueItems\" is supported for items of an \"enum\" of at most {}",
            path, kMaxUniqueItems);
      }
    }
    const bool has_list = schema.contains("items") && schema["items"].is_array();
    const char* first = has_list ? "items" : "prefixItems";
    if (schema.contains(first)) {
      const Json& list = schema[first];
      if (!list.is_array() || list.size() > kMaxFirstItems) {
        return wrong(path, "\"{}\" is no list of at most {} schemas", first, kMaxFirstItems);
      }
      for (std::size_t i = 0; i < list.size(); ++i) {
        shape.first.push_back(
            SLUICE_TRY(read_part(list[i], fmt::format("{}/{}/{}", path, first, i), depth)));
      }
    }
    const bool needs_more = shape.least > std::ssize(shape.first);
    if (schema.contains("items") && !has_list) {
      if (schema["items"] != false) {
        shape.rest = SLUICE_TRY(read_part(schema["items"], path + "/items", depth));
      }
    } else if (shape.first.empty() || needs_more) {
      shape.rest = json_.value();
    }
    return call(rules_.add(path, array_of(shape, json_)));
  }

  /// The values of an "enum" that all items are of, as text; absent for other items.
  Result<std::optional<std::vector<std::string>>> listed_items(const Json& schema,
                                                               const std::string& path) {
    std::optional<std::vector<std::string>> values;
    if (!schema.contains("items") || !schema["items"].is_object() || schema.contains("prefixItems"))
      return values;
    const Json items = SLUICE_TRY(resolve(schema["items"], path + "/items"));
    const auto list = items.find("enum");
    if (list == items.end() || !list->is_array() || list->size() > kMaxUniqueItems) return values;
    const bool has_more = std::ranges::any_of(items.items(), [](const auto& item) {
      return item.key() != "enum" && item.key() != "type" && !is_annotation(item.key());
    });
    if (has_more) return values;
    const auto types = SLUICE_TRY(types_of(items, path + "/items"));
    num_schemas_ += static_cast<int>(list->size() * (list->size() + 1) / 2);  // rules of each_once
    values.emplace();
    for (auto value = list->begin(); value != list->end(); ++value) {
      const bool fits = std::ranges::any_of(
          types, [&](const std::string& type) { return is_of_type(*value, type); });
      // 1 and 1.0 are one value.
      const bool is_new = std::find(list->begin(), value, *value) == value;
      if ((fits || types.empty()) && is_new) values->push_back(json_of(*value));
    }
    return values;
  }

  static Status check_name(std::string_view name, const std::string& path) {
    if (name.size() <= kMaxNameBytes) return ok_status();
    return invalid_argument("{}: a property's name has more than {} bytes", path, kMaxNameBytes);
  }

  Result<Expression> read_object(const Json& schema, const std::string& path, int depth) {
    ObjectShape shape;
    const Json others = schema.contains("additionalProperties") ? schema["additionalProperties"]
                        : schema.contains("properties")         ? Json(false)
                                                                : Json(true);
    if (others != false) {
      shape.others = SLUICE_TRY(read_part(others, path + "/additionalProperties", depth));
    }
    if (schema.contains("properties")) {
      const Json& properties = schema["properties"];
      if (!properties.is_object()) return wrong(path, "\"properties\" is no object");
      for (const auto& [name, property] : properties.items()) {
        SLUICE_TRY(check_name(name, path));
        Expression value =
            SLUICE_TRY(read_part(property, fmt::format("{}/properties/{}", path, name), depth));
        shape.properties.push_back({name, std::move(value), false});
      }
    }
    SLUICE_TRY(mark_required(schema, path, shape));
    SLUICE_TRY(read_other_names(schema, path, depth, shape));
    SLUICE_TRY(count_properties(schema, path, shape));
    return call(rules_.add(path, object_of(shape, path, rules_, json_)));
  }

  static bool restricts_names(const Json& schema) {
    return !(schema == true || (schema.is_object() && is_alone(schema, "type") &&
                                (!schema.contains("type") || schema["type"] == "string")));
  }

  /// The schema of names, which are strings whatever else it allows. `false` where none fits.
  Result<Json> names_of(const Json& schema, const std::string& path) {
    if (!schema.is_object()) return schema;
    Json names = SLUICE_TRY(resolve(schema, path));
    const auto types = SLUICE_TRY(types_of(names, path));
    const bool has_strings = types.empty() || std::ranges::find(types, "string") != types.end();
    if (!has_strings) return Json(false);
    names.erase("nullable");
    const bool is_joined =
        names.contains("anyOf") || names.contains("oneOf") || names.contains("allOf");
    if (is_joined) return Json{{"allOf", Json::array({names, {{"type", "string"}}})}};
    names["type"] = "string";
    return names;
  }

  /// Names by a pattern, or a schema of their own, where no others are known.
  Status read_other_names(const Json& schema, const std::string& path, int depth,
                          ObjectShape& shape) {
    const auto by_pattern = schema.find("patternProperties");
    const auto by_schema = schema.find("propertyNames");
    if (by_schema != schema.end() && restricts_names(*by_schema)) {
      if (shape.properties.empty() && by_pattern == schema.end()) {
        const Json names = SLUICE_TRY(names_of(*by_schema, path + "/propertyNames"));
        shape.name = SLUICE_TRY(read_part(names, path + "/propertyNames", depth));
      } else if (!is_loose()) {
        return unimplemented("{}: the word \"propertyNames\" beside names is not supported", path);
      }
    }
    if (by_pattern == schema.end()) return ok_status();
    if (!by_pattern->is_object()) return wrong(path, "\"patternProperties\" is no object");
    if (by_pattern->size() == 1 && shape.properties.empty()) {
      const Json names = {{"type", "string"}, {"pattern", by_pattern->begin().key()}};
      const std::string place = path + "/patternProperties";
      shape.name = SLUICE_TRY(read_part(names, place, depth));
      shape.others = SLUICE_TRY(read_part(by_pattern->begin().value(), place, depth));
    } else if (!is_loose()) {
      return unimplemented(
          "{}: the word \"patternProperties\" is supported for one pattern and no other names",
          path);
    }
    return ok_status();
  }

  Status count_properties(const Json& schema, const std::string& path, ObjectShape& shape) const {
    const auto least = SLUICE_TRY(count_of(schema, "minProperties", path));
    const auto most = SLUICE_TRY(count_of(schema, "maxProperties", path));
    SLUICE_TRY(check_order(least.value_or(0), most, "properties", path));
    const auto& known = shape.properties;
    const std::int64_t num_required =
        std::ranges::count(known, true, &ObjectShape::Property::is_required);
    const bool has_enough = least.value_or(0) <= num_required;
    const bool has_few = !most || (!shape.others && *most >= std::ssize(known));
    if (has_enough && has_few) return ok_status();
    // Two other members may have one name, and count once.
    if (known.empty() && shape.others && least.value_or(0) <= 1) {
      shape.least_others = least.value_or(0);
      shape.most_others = most;
      return ok_status();
    }
    if (is_loose()) return ok_status();
    return unimplemented(
        "{}: counts of properties are supported for objects without known names, "
        "from at most 1 on",
        path);
  }

  /// A required name that "properties" lacks has any value that others may have.
  Status mark_required(const Json& schema, const std::string& path, ObjectShape& shape) {
    if (!schema.contains("required")) return ok_status();
    const Json& required = schema["required"];
    if (!required.is_array()) return wrong(path, "\"required\" is no list of names");
    std::map<std::string_view, std::size_t> places;
    for (const auto& property : shape.properties) places.emplace(property.name, places.size());
    const bool is_closed = schema.contains("additionalProperties") && !shape.others;
    std::vector<ObjectShape::Property> more;
    for (const Json& name : required) {
      if (!name.is_string()) return wrong(path, "\"required\" has what is no name");
      const auto& text = name.get_ref<const std::string&>();
      SLUICE_TRY(check_name(text, path));
      const auto found = places.find(text);
      if (found != places.end()) {
        const std::size_t place = found->second;
        auto& property = place < shape.properties.size() ? shape.properties[place]
                                                         : more[place - shape.properties.size()];
        property.is_required = true;
        continue;
      }
      if (is_closed)
        return wrong(path, "\"{}\" is required, and additionalProperties forbids it", text);
      places.emplace(text, shape.properties.size() + more.size());
      more.push_back({text, shape.others ? *shape.others : json_.value(), true});
    }
    for (auto& property : more) shape.properties.push_back(std::move(property));
    return ok_status();
  }

  const Json root_;
  const Strictness strictness_;
  Rules rules_;
  JsonRules json_;
  std::map<std::string, RuleId> rules_by_pointer_;
  std::deque<std::string> waiting_;
  int num_schemas_ = 0;
  int num_merges_ = 0;
  Merger merger_;
};

}  // namespace

Result<Rules> read_schema(std::string_view json, Strictness strictness) {
  if (json.size() > kMaxSchemaBytes) {
    return invalid_argument("the schema has {} bytes; at most {} are read", json.size(),
                            kMaxSchemaBytes);
  }
  Json root = SLUICE_TRY(parse_ordered_json(json, kMaxSchemaDepth));
  return SchemaReader(std::move(root), strictness).read();
}

}  // namespace sluice::grammar
