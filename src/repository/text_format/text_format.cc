#include "repository/text_format/text_format.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace sluice::repository {
namespace {

// A field takes a hundred times its shortest text.
constexpr int kMaxFields = 1 << 16;
constexpr int kMaxDepth = 32;
/// Each element of a list has a copy of its field's name.
constexpr std::size_t kMaxFieldNameBytes = 256;
constexpr std::string_view kSpaces = " \t\r\n\v\f";
/// Maps of Triton's model_config.proto whose entries have an effect here.
constexpr std::array<std::string_view, 3> kMaps = {"parameters", "input_map", "output_map"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '+' || c == '-'; }

/// 16 for a character that is no digit in any base here: callers compare it with their base.
int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

/// An entry of a map as the text format has it. `value` has the key for its name.
TextField entry_of(const std::string& map, TextField value) {
  TextField key;
  key.name = "key";
  key.line = value.line;
  key.is_text = true;
  key.value = std::exchange(value.name, "value");
  TextField entry;
  entry.name = map;
  entry.line = value.line;
  entry.is_message = true;
  entry.fields.push_back(std::move(key));
  entry.fields.push_back(std::move(value));
  return entry;
}

class TextParser {
 public:
  explicit TextParser(std::string_view text) : rest_(text) {}

  Result<std::vector<TextField>> parse() {
    is_json_ = take('{');
    std::vector<TextField> fields = SLUICE_TRY(parse_fields(is_json_ ? '}' : '\0', 0));
    skip_space();
    if (!rest_.empty()) return fail("text follows the last '}}'");
    return fields;
  }

 private:
  /// Fields until `end`, which is taken; '\0': until the end of the text.
  Result<std::vector<TextField>> parse_fields(char end, int depth) {
    std::vector<TextField> fields;
    while (true) {
      skip_space();
      if (rest_.empty()) {
        if (end == '\0') return fields;
        return fail("the text ends, and '{}' is missing", end);
      }
      if (end != '\0' && take(end)) return fields;
      SLUICE_TRY(parse_field(fields, depth));
      // Separators between fields are optional in protobuf's text format.
      if (!take(',')) take(';');
    }
  }

  template <typename... Args>
  Status fail(fmt::format_string<Args...> format, Args&&... args) const {
    return make_error(Code::kInvalidArgument, "line {}: {}", line_,
                      fmt::format(format, std::forward<Args>(args)...));
  }

  void skip_space() {
    while (!rest_.empty()) {
      if (rest_.front() == '#') {
        // A comment reaches to the end of its line; the line end itself counts the line.
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (kSpaces.find(rest_.front()) == std::string_view::npos) {
        return;
      } else {
        if (rest_.front() == '\n') ++line_;
        rest_.remove_prefix(1);
      }
    }
  }

  /// Behind spaces.
  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view take_word() {
    const auto end = std::ranges::find_if_not(rest_, is_word);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    return word;
  }

  Status parse_field(std::vector<TextField>& fields, int depth) {
    TextField field;
    field.line = line_;
    field.is_json = is_json_;
    const char first = rest_.front();
    if (is_json_ && first == '"') {
      SLUICE_TRY(parse_text(field.name));
    } else if (!is_letter(first)) {
      const bool is_print = first > ' ' && first <= '~';
      return fail("a field's name is missing before {}",
                  is_print ? fmt::format("'{}'", first) : std::string("what is no text"));
    } else {
      field.name = take_word();
    }
    if (field.name.size() > kMaxFieldNameBytes) {
      return fail("a field's name has more than {} bytes", kMaxFieldNameBytes);
    }
    const bool has_colon = take(':');
    // A list is a repeated field in short form, so its values become fields of one name.
    if (!take('[')) return parse_value(std::move(field), has_colon, fields, depth);
    if (take(']')) return ok_status();
    do {
      field.line = line_;
      SLUICE_TRY(parse_value(field, has_colon, fields, depth));
    } while (take(','));
    return take(']') ? ok_status() : fail("the list of \"{}\" has no ']'", field.name);
  }

  Status parse_value(TextField field, bool has_colon, std::vector<TextField>& fields, int depth) {
    if (++num_fields_ > kMaxFields) return fail("the text has more than {} fields", kMaxFields);
    const bool is_braced = take('{');
    if (is_braced || take('<')) {
      if (depth == kMaxDepth) return fail("messages lie deeper than {} in each other", kMaxDepth);
      field.is_message = true;
      field.fields = SLUICE_TRY(parse_fields(is_braced ? '}' : '>', depth + 1));
    } else if (!has_colon) {
      return fail("\"{}\" has neither ':' nor '{{'", field.name.substr(0, 64));
    } else if (!rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'')) {
      field.is_text = true;
      SLUICE_TRY(parse_texts(field.value));
    } else {
      take_sign(field.value);
      field.value += take_word();
      if (field.value.empty() || field.value == "-") {
        return fail("\"{}\" has no value", field.name.substr(0, 64));
      }
      if (is_json_ && field.value == "null") return ok_status();
    }
    if (is_json_ && field.is_message && std::ranges::find(kMaps, field.name) != kMaps.end()) {
      for (TextField& one : field.fields) fields.push_back(entry_of(field.name, std::move(one)));
    } else {
      fields.push_back(std::move(field));
    }
    return ok_status();
  }

  /// A sign may stand apart from its number.
  void take_sign(std::string& value) {
    if (!take('-')) return;
    value = "-";
    skip_space();
  }

  /// Texts behind each other are one.
  Status parse_texts(std::string& value) {
    while (!rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'')) {
      SLUICE_TRY(parse_text(value));
      skip_space();
    }
    return ok_status();
  }

  Status parse_text(std::string& value) {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() != quote) {
      const char c = rest_.front();
      if (c == '\n' || c == '\0') return fail("a text does not end on its line");
      rest_.remove_prefix(1);
      if (c != '\\') {
        value += c;
      } else {
        SLUICE_TRY(parse_escape(value));
      }
    }
    if (rest_.empty()) return fail("a text does not end");
    rest_.remove_prefix(1);
    return ok_status();
  }

  Status parse_escape(std::string& value) {
    if (rest_.empty()) return fail("a text does not end");
    const char c = rest_.front();
    if (c >= '0' && c <= '7') return parse_byte(8, 3, value);
    rest_.remove_prefix(1);
    if (c == 'x' || c == 'X') return parse_byte(16, 2, value);
    constexpr std::string_view kNames = "abfnrtv\\'\"?";
    constexpr std::string_view kBytes = "\a\b\f\n\r\t\v\\'\"?";
    const std::size_t at = kNames.find(c);
    if (at == std::string_view::npos) return fail("a text has an unknown escape");
    value += kBytes[at];
    return ok_status();
  }

  Status parse_byte(int base, std::size_t most_digits, std::string& value) {
    int number = 0;
    std::size_t count = 0;
    while (count < most_digits && count < rest_.size() && digit_of(rest_[count]) < base) {
      number = number * base + digit_of(rest_[count++]);
    }
    if (count == 0 || number > 0xFF) return fail("a text has an escape that is no byte");
    rest_.remove_prefix(count);
    value += static_cast<char>(number);
    return ok_status();
  }

  std::string_view rest_;
  bool is_json_ = false;
  int line_ = 1;
  int num_fields_ = 0;
};

}  // namespace

Result<std::vector<TextField>> parse_text_format(std::string_view text) {
  return TextParser(without_mark(text)).parse();
}

}  // namespace sluice::repository
