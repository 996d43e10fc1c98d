#include "text/jinja/library/filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/text/number.h"
#include "text/jinja/library/arithmetic.h"
#include "text/jinja/library/methods.h"
#include "text/jinja/values/print.h"
#include "text/jinja/values/strings.h"
#include "text/unicode/characters.h"

namespace sluice::text::jinja {
namespace {

template <std::string (*change)(std::string_view)>
Result<Value> change_text(const Value& value, Call& call) {
  const std::string text = SLUICE_TRY(to_text(value, call.work));
  return Value(change(text));
}

/// Words begin behind white space, hyphens and opening brackets.
std::string title_words(std::string_view text) {
  std::string titled;
  bool is_start = true;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    is_start ? append_upper_case(titled, c) : append_lower_case(titled, c);
    is_start = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  }
  return titled;
}

/// The five characters and their references are those of Python's markupsafe, so that texts are
/// byte for byte those of the reference implementation.
std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&#34;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

/// What `safe` does: nothing is escaped unless a template asks for it, so no text needs the mark.
std::string same(std::string_view text) { return std::string(text); }

Result<Value> trim(const Value& value, Call& call) {
  const std::string text = SLUICE_TRY(to_text(value, call.work));
  const Value set = SLUICE_TRY(call.value_or("chars", None{}));
  // The cost is the product of text and set, as each character at an end is looked up in the set.
  SLUICE_TRY(call.work.spend(units_of_strip(text, set.text())));
  return Value(strip(text, set.text(), Side::kBoth));
}

Result<Value> replace_in(const Value& value, Call& call) {
  const std::string text = SLUICE_TRY(to_text(value, call.work));
  const Value old_value = SLUICE_TRY(call.value("old"));
  const Value new_value = SLUICE_TRY(call.value("new"));
  const std::string from = SLUICE_TRY(to_text(old_value, call.work));
  const std::string to = SLUICE_TRY(to_text(new_value, call.work));
  const std::int64_t most = SLUICE_TRY(call.whole_or("count", -1));
  return Value(SLUICE_TRY(replace(text, from, to, most, call.work)));
}

Result<Value> length(const Value& value, Call& call) {
  if (const auto* list = value.list()) return Value(static_cast<std::int64_t>(list->items.size()));
  if (const auto* dict = value.dict()) {
    return Value(static_cast<std::int64_t>(dict->entries.size()));
  }
  // Undefined counts as an empty text here; none does not, as in Jinja.
  if (value.is_undefined()) return Value(std::int64_t{0});
  if (value.text() == nullptr) return call.error(fmt::format("{} has no length", value.kind()));
  // Characters are counted, not bytes. The pass is quick, so eight bytes cost one unit.
  SLUICE_TRY(call.work.spend(value.text()->size() / 8));
  return Value(count_characters(*value.text()));
}

Result<Value> fallback(const Value& value, Call& call) {
  const Value other = SLUICE_TRY(call.value_or("default_value", Value("")));
  // With `default(x, true)` empty texts, 0 and none are replaced, too; without it, only undefined
  // values.
  const bool tests_truth = SLUICE_TRY(call.truth_or("boolean", false));
  const bool is_absent = value.is_undefined() || (tests_truth && !value.is_true());
  return is_absent ? other : value;
}

Result<Value> to_json_filter(const Value& value, Call& call) {
  // Defaults are those of the `tojson` that Hugging Face's templates get, not those of Jinja's own,
  // which escapes characters of HTML: prompts hold JSON as a model saw it in training.
  JsonStyle style;
  style.is_ascii = SLUICE_TRY(call.truth_or("ensure_ascii", false));
  const Value indent = SLUICE_TRY(call.value_or("indent", None{}));
  const Value separators = SLUICE_TRY(call.value_or("separators", None{}));
  style.sorts_keys = SLUICE_TRY(call.truth_or("sort_keys", false));
  if (!indent.is_none()) {
    // Each level of a value repeats the margin, so an unbounded indent would make text without
    // data.
    constexpr std::int64_t kMaxIndent = 100;
    const auto spaces = indent.whole();
    if (!spaces || *spaces > kMaxIndent) return call.error("\"indent\" takes 0 to 100");
    style.indent = std::max<std::int64_t>(*spaces, 0);
    style.item_separator = ",";
  }
  if (const auto* pair = separators.list()) {
    const bool are_texts = pair->items.size() == 2 && pair->items[0].text() != nullptr &&
                           pair->items[1].text() != nullptr;
    if (!are_texts) return call.error("\"separators\" takes two texts");
    style.item_separator = *pair->items[0].text();
    style.key_separator = *pair->items[1].text();
  }
  return Value(SLUICE_TRY(to_json(value, style, call.work)));
}

std::optional<double> parse_number(std::string_view text) {
  // Python's float() allows white space and one plus sign around a number; to_number takes neither.
  text = strip(text, nullptr, Side::kBoth);
  if (text.starts_with('+')) text.remove_prefix(1);
  return to_number<double>(text);
}

Result<Value> to_whole(const Value& value, Call& call) {
  Value other = SLUICE_TRY(call.value_or("default", Value(std::int64_t{0})));
  std::optional<double> number = value.number();
  // Whole numbers keep all 64 bits: a way through double would lose those above 2^53.
  if (const auto whole = value.whole()) return Value(*whole);
  if (const auto* text = value.text()) {
    std::string_view digits = strip(*text, nullptr, Side::kBoth);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (const auto whole = to_number<std::int64_t>(digits)) return Value(*whole);
    number = parse_number(*text);
  }
  // A conversion of a double outside of the range is undefined in C++. NaN fails both comparisons.
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (!number || !(*number > -kEnd && *number < kEnd)) return other;
  return Value(static_cast<std::int64_t>(*number));
}

Result<Value> to_float(const Value& value, Call& call) {
  Value other = SLUICE_TRY(call.value_or("default", Value(0.0)));
  if (const auto number = value.number()) return Value(*number);
  const auto number = value.text() != nullptr ? parse_number(*value.text()) : std::nullopt;
  return number ? Value(*number) : std::move(other);
}

Result<Value> absolute(const Value& value, Call& call) {
  const auto number = value.number();
  if (!number) return call.error("takes a number");
  if (*number >= 0) return value.whole() ? Value(*value.whole()) : Value(*number);
  return negate(value);
}

Result<Value> round_number(const Value& value, Call& call) {
  const std::int64_t digits = SLUICE_TRY(call.whole_or("precision", 0));
  const std::string method = SLUICE_TRY(call.text_or("method", "common"));
  const auto number = value.number();
  // A double has at most 308 digits before its point, so more digits could not change it.
  constexpr std::int64_t kMaxDigits = 300;
  if (!number || digits < 0 || digits > kMaxDigits) {
    return call.error("takes a number, and 0 to 300 digits");
  }
  if (method == "common") {
    if (value.whole()) return Value(*value.whole());
    // Decimal digits are rounded exactly by writing and reading them.
    return Value(*parse_number(fmt::format("{:.{}f}", *number, digits)));
  }
  // Ceil and floor scale in binary, as Jinja does: their results share its rounding errors.
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = *number * scale;
  if (method == "ceil") return Value(std::ceil(scaled) / scale);
  if (method == "floor") return Value(std::floor(scaled) / scale);
  return call.error("\"method\" takes common, ceil or floor");
}

Result<Value> format(const Value& value, Call& call) {
  const std::string text = SLUICE_TRY(to_text(value, call.work));
  return Value(SLUICE_TRY(fill_in(text, call.rest(), call.work)));
}

Result<Value> indent(const Value& value, Call& call) {
  const std::string text = SLUICE_TRY(to_text(value, call.work));
  const Value width = SLUICE_TRY(call.value_or("width", Value(std::int64_t{4})));
  const bool indents_first = SLUICE_TRY(call.truth_or("first", false));
  const bool indents_blank = SLUICE_TRY(call.truth_or("blank", false));
  const std::int64_t spaces = width.whole().value_or(0);
  // The margin is repeated for each line; this bounds the growth of a text per call.
  constexpr std::int64_t kMaxSpaces = 1000;
  if (spaces < 0 || spaces > kMaxSpaces) return call.error("\"width\" takes 0 to 1000");
  const std::string margin =
      width.text() != nullptr ? *width.text() : std::string(static_cast<std::size_t>(spaces), ' ');
  // The added line end makes a line of what stands behind the last one, an empty line as well.
  const std::string ended = text + "\n";
  std::string indented;
  bool is_first = true;
  for (const std::string_view line : split_lines(ended)) {
    SLUICE_TRY(call.work.spend(margin.size() + line.size()));
    SLUICE_TRY(Work::check_text(indented.size()));
    if (!is_first) indented += '\n';
    if (is_first ? indents_first : indents_blank || !line.empty()) indented += margin;
    indented += line;
    is_first = false;
  }
  SLUICE_TRY(call.work.spend_text(indented.size()));
  return Value(std::move(indented));
}

Result<Value> string(const Value& value, Call& call) {
  return Value(SLUICE_TRY(to_text(value, call.work)));
}

/// Jinja's names, with their short forms. Filters of lists stand in list_filters.cc.
constexpr NamedFunction kFilters[] = {
    {"abs", absolute},
    {"capitalize", change_text<capitalize>},
    {"count", length},
    {"d", fallback},
    {"default", fallback},
    {"e", change_text<escape>},
    {"escape", change_text<escape>},
    {"float", to_float},
    {"format", format},
    {"indent", indent},
    {"int", to_whole},
    {"length", length},
    {"lower", change_text<lower>},
    {"replace", replace_in},
    {"round", round_number},
    {"safe", change_text<same>},
    {"string", string},
    {"title", change_text<title_words>},
    {"tojson", to_json_filter},
    {"trim", trim},
    {"upper", change_text<upper>},
};

}  // namespace

const NamedFunction* find_filter(std::string_view name) {
  const NamedFunction* found = find_function(kFilters, name);
  return found != nullptr ? found : find_list_filter(name);
}

}  // namespace sluice::text::jinja
