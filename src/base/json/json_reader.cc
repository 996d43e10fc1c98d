#include "base/json/json_reader.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace sluice {
namespace {

/// Limits of settings and requests alike: a text of a thousand bytes is a path or a name, more is a
/// mistake.
constexpr std::size_t kLongestText = 1024;
constexpr std::size_t kMaxMembers = 1024;

std::string member_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

template <typename Json>
Result<Json> parse(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view what = error.what();
    if (const auto end = what.find("] "); end != std::string_view::npos) {
      what.remove_prefix(end + 2);
    }
    return invalid_argument("not JSON: {}", what);
  }
}

/// Before anything is allocated for it. What is no JSON may have any outline. An ordered object
/// compares each new member with all before, so the number of members is bounded.
Status check_outline(std::string_view text, int max_depth) {
  std::vector<std::size_t> members;  // of each object or list that is open
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // A pass over the bytes: brackets count outside of strings alone, and a backslash within one
    // hides the next byte.
    if (c == '"') is_in_string = !is_in_string;
    if (is_in_string) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      members.push_back(0);
      if (std::cmp_greater(members.size(), max_depth)) {
        return invalid_argument("not taken: more than {} lists and objects lie within each other",
                                max_depth);
      }
    } else if ((c == ']' || c == '}') && !members.empty()) {
      members.pop_back();
    } else if (c == ':' && !members.empty() && ++members.back() > kMaxMembers) {
      return invalid_argument("not taken: an object has more than {} members", kMaxMembers);
    }
  }
  return ok_status();
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text) { return parse<nlohmann::json>(text); }

Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text, int max_depth) {
  SLUICE_TRY(check_outline(text, max_depth));
  return parse<nlohmann::ordered_json>(text);
}

Status JsonValue::wrong_type(std::string_view expected) const {
  return invalid_argument("{}: expected {}, found {} {}", path_.empty() ? "the text" : path_,
                          expected, value_->is_array() || value_->is_object() ? "an" : "a",
                          value_->type_name());
}

bool JsonValue::has(std::string_view name) const {
  return value_->is_object() && value_->contains(name);
}

Result<JsonValue> JsonValue::field(std::string_view name) const {
  if (!value_->is_object()) return wrong_type("an object");
  const auto it = value_->find(name);
  if (it == value_->end()) return invalid_argument("{}: missing", member_path(path_, name));
  return JsonValue(*it, member_path(path_, name));
}

Result<std::int64_t> JsonValue::as_int(std::int64_t least, std::int64_t most) const {
  if (!value_->is_number_integer()) return wrong_type("a whole number");
  // The parser keeps what is above int64 as unsigned; reading that as int64 would wrap.
  const bool is_huge = value_->is_number_unsigned() &&
                       value_->get<std::uint64_t>() >
                           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = is_huge ? 0 : value_->get<std::int64_t>();
  if (is_huge || number < least || number > most) {
    return invalid_argument("{}: {} is not between {} and {}", path_, value_->dump(), least, most);
  }
  return number;
}

Result<bool> JsonValue::as_bool() const {
  if (!value_->is_boolean()) return wrong_type("true or false");
  return value_->get<bool>();
}

Result<std::string> JsonValue::as_text() const {
  if (!value_->is_string()) return wrong_type("a text");
  const auto& text = value_->get_ref<const std::string&>();
  if (text.size() > kLongestText) {
    return invalid_argument("{}: a text of {} bytes; at most {} are read", path_, text.size(),
                            kLongestText);
  }
  return text;
}

Result<std::vector<JsonValue>> JsonValue::as_items(std::size_t most) const {
  if (!value_->is_array()) return wrong_type("a list");
  if (value_->size() > most) {
    return invalid_argument("{}: a list of {}; at most {} are read", path_, value_->size(), most);
  }
  std::vector<JsonValue> items;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    items.emplace_back((*value_)[i], fmt::format("{}[{}]", path_, i));
  }
  return items;
}

Result<std::int64_t> JsonValue::int_or(std::string_view name, std::int64_t fallback,
                                       std::int64_t least, std::int64_t most) const {
  if (!has(name)) return fallback;
  return SLUICE_TRY(field(name)).as_int(least, most);
}

Result<std::string> JsonValue::text_or(std::string_view name, std::string_view fallback) const {
  if (!has(name)) return std::string(fallback);
  return SLUICE_TRY(field(name)).as_text();
}

Result<std::vector<JsonValue>> JsonValue::items_or_none(std::string_view name,
                                                        std::size_t most) const {
  if (!has(name)) return std::vector<JsonValue>();
  return SLUICE_TRY(field(name)).as_items(most);
}

}  // namespace sluice
