#include "text/jinja/values/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/unicode/characters.h"

namespace sluice::text::jinja {
namespace {

/// Python's repr of a float: the shortest that reads back, with a point or an exponent.
std::string float_text(double number, std::string_view infinity, std::string_view nan) {
  if (std::isnan(number)) return std::string(nan);
  if (std::isinf(number)) return (number < 0 ? "-" : "") + std::string(infinity);
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// Python's repr of a text: single quotes, unless it has single quotes and no double ones.
void append_quoted(std::string& to, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  to += quote;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      to += '\\';
      to += static_cast<char>(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      to += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
      // Python shows characters that Unicode calls printable as they are, and escapes the others by
      // the size of their code.
    } else if (c == ' ' || is_printable(c)) {
      append_character(to, c);
    } else {
      const auto code = static_cast<std::uint32_t>(c);
      to += code < 0x100     ? fmt::format("\\x{:02x}", code)
            : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                             : fmt::format("\\U{:08x}", code);
    }
  }
  to += quote;
}

/// For an element, besides the bytes of its text.
constexpr std::size_t kPrintUnits = 8;

class Representation {
 public:
  explicit Representation(Work& work) : work_(work) {}

  Status append(const Value& value) {
    const std::size_t before = text.size();
    SLUICE_TRY(work_.spend(kPrintUnits));
    // Checked per element: one list may stand many times within another without a copy, so texts
    // can grow exponentially with the depth of a value.
    SLUICE_TRY(Work::check_text(before));
    if (value.is_none()) {
      text += "None";
    } else if (value.is_undefined()) {
      text += "Undefined";
      // Truth values come before numbers here and in JSON: whole() reads them as 0 and 1.
    } else if (value.is_bool()) {
      text += value.is_true() ? "True" : "False";
    } else if (const auto whole = value.whole()) {
      text += fmt::format("{}", *whole);
    } else if (const auto number = value.number()) {
      text += float_text(*number, "inf", "nan");
    } else if (value.text() != nullptr) {
      append_quoted(text, *value.text());
    } else if (value.list() != nullptr) {
      return append_list(*value.list());
    } else if (value.dict() != nullptr) {
      return append_dict(*value.dict());
    } else {
      text += fmt::format("<{}>", value.kind());
    }
    return work_.spend_text(text.size() - before);
  }

  std::string text;

 private:
  Status append_list(const List& list) {
    text += list.is_tuple ? '(' : '[';
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) text += ", ";
      SLUICE_TRY(append(list.items[i]));
    }
    // Python writes a tuple of one element with a comma.
    if (list.is_tuple && list.items.size() == 1) text += ',';
    text += list.is_tuple ? ')' : ']';
    return ok_status();
  }

  Status append_dict(const Dict& dict) {
    text += '{';
    for (std::size_t i = 0; i < dict.entries.size(); ++i) {
      if (i > 0) text += ", ";
      SLUICE_TRY(append(dict.entries[i].first));
      text += ": ";
      SLUICE_TRY(append(dict.entries[i].second));
    }
    text += '}';
    return ok_status();
  }

  Work& work_;
};

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Work& work) : style_(style), work_(work) {}

  Status append(const Value& value, std::int64_t level) {
    const std::size_t before = text.size();
    SLUICE_TRY(work_.spend(kPrintUnits));
    SLUICE_TRY(Work::check_text(before));
    if (value.list() != nullptr) return append_list(*value.list(), level);
    if (value.dict() != nullptr) return append_dict(*value.dict(), level);
    if (value.text() != nullptr) {
      append_string(*value.text());
    } else {
      text += SLUICE_TRY(scalar(value));
    }
    return work_.spend_text(text.size() - before);
  }

  std::string text;

 private:
  static Result<std::string> scalar(const Value& value) {
    if (value.is_none()) return std::string("null");
    if (value.is_bool()) return std::string(value.is_true() ? "true" : "false");
    if (const auto whole = value.whole()) return fmt::format("{}", *whole);
    // JSON has no such numbers; Python's json.dumps writes these words, and templates were tested
    // with it.
    if (const auto number = value.number()) return float_text(*number, "Infinity", "NaN");
    return invalid_argument("JSON has no {}", value.kind());
  }

  void append_string(std::string_view string) {
    // nlohmann escapes what Python escapes, but writes DEL as it is only without ensure_ascii.
    text += nlohmann::json(string).dump(-1, ' ', style_.is_ascii);
  }

  Status break_line(std::int64_t level) {
    if (!style_.indent) return ok_status();
    const auto spaces = static_cast<std::size_t>(level * *style_.indent);
    SLUICE_TRY(work_.spend_text(spaces));
    text += '\n';
    text.append(spaces, ' ');
    return ok_status();
  }

  Status append_list(const List& list, std::int64_t level) {
    text += '[';
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) text += style_.item_separator;
      SLUICE_TRY(break_line(level + 1));
      SLUICE_TRY(append(list.items[i], level + 1));
    }
    if (!list.items.empty()) SLUICE_TRY(break_line(level));
    text += ']';
    return ok_status();
  }

  Status append_dict(const Dict& dict, std::int64_t level) {
    // Keys of JSON are texts. Numbers, truth values and none become theirs, as in Python; other
    // keys are an error.
    std::vector<std::pair<std::string, const Value*>> entries;
    for (const auto& [key, value] : dict.entries) {
      entries.emplace_back(key.text() != nullptr ? *key.text() : SLUICE_TRY(scalar(key)), &value);
    }
    SLUICE_TRY(work_.spend(Work::kElementUnits * entries.size()));
    if (style_.sorts_keys) {
      // Bytes of UTF-8 sort as the code points do, so this is Python's order.
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    text += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) text += style_.item_separator;
      SLUICE_TRY(break_line(level + 1));
      append_string(entries[i].first);
      text += style_.key_separator;
      SLUICE_TRY(append(*entries[i].second, level + 1));
    }
    if (!entries.empty()) SLUICE_TRY(break_line(level));
    text += '}';
    return ok_status();
  }

  const JsonStyle& style_;
  Work& work_;
};

Result<Value> list_from_json(const nlohmann::ordered_json& json, Work& work, int depth) {
  std::vector<Value> items;
  for (const auto& item : json) items.push_back(SLUICE_TRY(from_json(item, work, depth + 1)));
  return make_list(std::move(items), work);
}

/// Keys of a JSON object differ, so that `make_dict` need not look for equal ones.
Result<Value> dict_from_json(const nlohmann::ordered_json& json, Work& work, int depth) {
  Dict dict;
  for (const auto& [name, value] : json.items()) {
    SLUICE_TRY(check_utf8(name));
    SLUICE_TRY(work.spend(2 * Work::kElementUnits));
    dict.entries.emplace_back(name, SLUICE_TRY(from_json(value, work, depth + 1)));
    dict.depth = std::max(dict.depth, 1 + depth_of(dict.entries.back().second));
  }
  return Value(std::make_shared<const Dict>(std::move(dict)));
}

}  // namespace

Result<std::string> to_text(const Value& value, Work& work) {
  if (value.text() != nullptr) {
    SLUICE_TRY(work.spend_text(value.text()->size()));
    return *value.text();
  }
  // An undefined value prints as nothing at the top, but is named within a list: a message with a
  // hole in it should show.
  if (value.is_undefined()) return std::string();
  return to_representation(value, work);
}

Result<std::string> to_representation(const Value& value, Work& work) {
  Representation representation(work);
  SLUICE_TRY(representation.append(value));
  return std::move(representation.text);
}

Result<std::string> to_json(const Value& value, const JsonStyle& style, Work& work) {
  JsonWriter writer(style, work);
  SLUICE_TRY(writer.append(value, 0));
  return std::move(writer.text);
}

Result<Value> from_json(const nlohmann::ordered_json& json, Work& work, int depth) {
  constexpr int kMaxJsonDepth = 64;  // a template may wrap what it is given
  SLUICE_TRY(work.spend(1));
  if (depth > kMaxJsonDepth) {
    return make_error(Code::kResourceExhausted, "the messages are more than {} levels deep",
                      kMaxJsonDepth);
  }
  switch (json.type()) {
    case nlohmann::ordered_json::value_t::boolean: return Value(json.get<bool>());
    case nlohmann::ordered_json::value_t::number_integer: return Value(json.get<std::int64_t>());
    case nlohmann::ordered_json::value_t::number_unsigned: {
      // The next best number: Python keeps all digits, a template of a chat has no use for them.
      const auto number = json.get<std::uint64_t>();
      if (number <= INT64_MAX) return Value(static_cast<std::int64_t>(number));
      return Value(static_cast<double>(number));
    }
    case nlohmann::ordered_json::value_t::number_float: return Value(json.get<double>());
    case nlohmann::ordered_json::value_t::string: {
      const auto& text = json.get_ref<const std::string&>();
      SLUICE_TRY(check_utf8(text));
      SLUICE_TRY(work.spend_text(text.size()));
      return Value(text);
    }
    case nlohmann::ordered_json::value_t::array: return list_from_json(json, work, depth);
    case nlohmann::ordered_json::value_t::object: return dict_from_json(json, work, depth);
    default: return Value(None{});
  }
}

}  // namespace sluice::text::jinja
