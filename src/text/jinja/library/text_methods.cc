#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/library/lookup.h"
#include "text/jinja/library/methods.h"
#include "text/jinja/values/print.h"
#include "text/jinja/values/strings.h"
#include "text/unicode/characters.h"

namespace sluice::text::jinja {
namespace {

/// The views point into the text that is split; the elements are copies, which outlive it.
Result<Value> list_of_texts(const std::vector<std::string_view>& texts, Work& work,
                            bool is_tuple = false) {
  SLUICE_TRY(work.spend(Work::kElementUnits * texts.size()));
  std::vector<Value> items(texts.begin(), texts.end());
  return make_list(std::move(items), work, is_tuple);
}

/// A search backwards compares the whole part at each place.
std::size_t units_of_search(std::string_view text, std::size_t part_bytes, bool is_backward) {
  return text.size() + (is_backward ? text.size() / 16 * std::min(part_bytes, Work::kMaxUnits) : 0);
}

template <Side side>
Result<Value> strip_ends(const Value& text, Call& call) {
  const Value set = SLUICE_TRY(call.value_or("chars", None{}));
  // The text is a set of characters, not a prefix: "xyz".strip("zx") is "y".
  if (!set.is_none() && set.text() == nullptr) return call.error("takes a text of characters");
  SLUICE_TRY(call.work.spend(units_of_strip(*text.text(), set.text())));
  return Value(strip(*text.text(), set.text(), side));
}

/// At white space, as often as `most` says; negative: always. Backwards from the end if asked to.
std::vector<std::string_view> split_words(std::string_view text, std::int64_t most,
                                          bool is_backward) {
  std::vector<std::string_view> words;
  text = strip(text, nullptr, is_backward ? Side::kRight : Side::kLeft);
  while (!text.empty()) {
    // What is left goes on as one word. White space at its far end stays, as in Python.
    if (most >= 0 && std::cmp_equal(words.size(), most)) {
      words.push_back(text);
      break;
    }
    std::size_t at = is_backward ? text.size() : 0;
    while (is_backward ? at > 0 : at < text.size()) {
      std::size_t next = at;
      const char32_t c = is_backward ? previous_character(text, next) : next_character(text, next);
      if (is_space(c)) break;
      at = next;
    }
    words.push_back(is_backward ? text.substr(at) : text.substr(0, at));
    text = is_backward ? text.substr(0, at) : text.substr(at);
    text = strip(text, nullptr, is_backward ? Side::kRight : Side::kLeft);
  }
  return words;
}

/// Unlike a split at white space, this one gives empty parts: ",a" at "," is "" and "a". A backward
/// split gives its parts in reverse order, and the caller turns them.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator,
                                       std::int64_t most, bool is_backward) {
  std::vector<std::string_view> parts;
  while (most < 0 || std::cmp_less(parts.size(), most)) {
    const std::size_t at =
        is_backward ? find_last_text(text, separator) : find_text(text, separator);
    if (at == std::string_view::npos) break;
    parts.push_back(is_backward ? text.substr(at + separator.size()) : text.substr(0, at));
    text = is_backward ? text.substr(0, at) : text.substr(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

template <bool is_backward>
Result<Value> split(const Value& text, Call& call) {
  const Value separator = SLUICE_TRY(call.value_or("sep", None{}));
  const std::int64_t most = SLUICE_TRY(call.whole_or("maxsplit", -1));
  if (!separator.is_none() && (separator.text() == nullptr || separator.text()->empty())) {
    return call.error("\"sep\" takes a text that is not empty");
  }
  // An empty separator is an error in Python as well; a loop over it would never advance.
  const std::size_t part = separator.is_none() ? 1 : separator.text()->size();
  SLUICE_TRY(call.work.spend(units_of_search(*text.text(), part, is_backward)));
  auto parts = separator.is_none() ? split_words(*text.text(), most, is_backward)
                                   : split_at(*text.text(), *separator.text(), most, is_backward);
  if (is_backward) std::ranges::reverse(parts);
  return list_of_texts(parts, call.work);
}

Result<Value> split_into_lines(const Value& text, Call& call) {
  SLUICE_TRY(call.work.spend(text.text()->size()));
  const bool keeps_ends = SLUICE_TRY(call.truth_or("keepends", false));
  auto lines = split_lines(*text.text());
  if (keeps_ends) {
    // A line reaches up to the start of the next one, so its end is whatever line end the text has
    // there.
    const char* end = text.text()->data() + text.text()->size();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const char* next = i + 1 < lines.size() ? lines[i + 1].data() : end;
      lines[i] = {lines[i].data(), static_cast<std::size_t>(next - lines[i].data())};
    }
  }
  return list_of_texts(lines, call.work);
}

template <bool is_last>
Result<Value> partition(const Value& text, Call& call) {
  const std::string separator = SLUICE_TRY(call.text("sep"));
  if (separator.empty()) return call.error("\"sep\" takes a text that is not empty");
  const std::string_view whole = *text.text();
  SLUICE_TRY(call.work.spend(units_of_search(whole, separator.size(), is_last)));
  const std::size_t at = is_last ? find_last_text(whole, separator) : find_text(whole, separator);
  if (at == std::string_view::npos) {
    // Without the separator the text stands first, or last for rpartition.
    std::vector<std::string_view> parts = {whole, "", ""};
    if (is_last) std::swap(parts[0], parts[2]);
    return list_of_texts(parts, call.work, true);
  }
  return list_of_texts({whole.substr(0, at), separator, whole.substr(at + separator.size())},
                       call.work, true);
}

/// `startswith` and `endswith` take a text or a tuple of them.
template <bool is_end>
Result<Value> has_end(const Value& text, Call& call) {
  const Value given = SLUICE_TRY(call.value("prefix"));
  // The lambda cannot fail, so it counts what it compares, and the loop pays for that.
  std::size_t compared = 0;
  const auto fits = [&](const Value& part) {
    if (part.text() == nullptr) return false;
    compared += part.text()->size();
    return is_end ? text.text()->ends_with(*part.text()) : text.text()->starts_with(*part.text());
  };
  if (given.list() != nullptr) {
    for (const Value& part : given.list()->items) {
      if (fits(part)) return Value(true);
      SLUICE_TRY(call.work.spend(std::exchange(compared, 0) + 1));
    }
    return Value(false);
  }
  if (given.text() == nullptr) return call.error("takes a text or a tuple of texts");
  SLUICE_TRY(call.work.spend(given.text()->size()));
  return Value(fits(given));
}

template <bool is_end>
Result<Value> remove_end(const Value& text, Call& call) {
  const std::string part = SLUICE_TRY(call.text("prefix"));
  SLUICE_TRY(call.work.spend_text(text.text()->size()));  // a copy
  std::string_view left = *text.text();
  if (is_end ? left.ends_with(part) : left.starts_with(part)) {
    left = is_end ? left.substr(0, left.size() - part.size()) : left.substr(part.size());
  }
  return Value(left);
}

template <bool is_last>
Result<Value> find(const Value& text, Call& call) {
  const std::string part = SLUICE_TRY(call.text("sub"));
  const std::string_view whole = *text.text();
  SLUICE_TRY(call.work.spend(units_of_search(whole, part.size(), is_last)));
  const std::size_t at = is_last ? find_last_text(whole, part) : find_text(whole, part);
  // Places count characters, as all indexes of a template do.
  if (at == std::string_view::npos) return Value(std::int64_t{-1});
  return Value(count_characters(whole.substr(0, at)));
}

Result<Value> count(const Value& text, Call& call) {
  const std::string part = SLUICE_TRY(call.text("sub"));
  SLUICE_TRY(call.work.spend(text.text()->size()));
  // An empty text is found before, between and behind all characters.
  if (part.empty()) return Value(count_characters(*text.text()) + 1);
  return Value(static_cast<std::int64_t>(split_at(*text.text(), part, -1, false).size()) - 1);
}

Result<Value> replace_all(const Value& text, Call& call) {
  const std::string from = SLUICE_TRY(call.text("old"));
  const std::string to = SLUICE_TRY(call.text("new"));
  const std::int64_t most = SLUICE_TRY(call.whole_or("count", -1));
  return Value(SLUICE_TRY(replace(*text.text(), from, to, most, call.work)));
}

Result<Value> join(const Value& separator, Call& call) {
  const Value given = SLUICE_TRY(call.value("iterable"));
  const ListPtr parts = SLUICE_TRY(elements_of(given, call.work));
  std::string joined;
  for (const Value& part : parts->items) {
    if (part.text() == nullptr) return call.error("takes a list of texts");
    // Paid per part: the list may hold one long text many times, which costs it nothing.
    SLUICE_TRY(call.work.spend(separator.text()->size() + part.text()->size()));
    SLUICE_TRY(Work::check_text(joined.size()));
    if (&part != parts->items.data()) joined += *separator.text();
    joined += *part.text();
  }
  SLUICE_TRY(call.work.spend_text(joined.size()));
  return Value(std::move(joined));
}

template <std::string (*change)(std::string_view)>
Result<Value> changed(const Value& text, Call& call) {
  SLUICE_TRY(call.work.spend_text(text.text()->size()));
  std::string to = change(*text.text());
  SLUICE_TRY(call.work.spend_text(to.size()));  // a character may become several
  return Value(std::move(to));
}

/// Letters behind letters become small, others large.
std::string title(std::string_view text) {
  std::string titled;
  bool is_inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    is_inside ? append_lower_case(titled, c) : append_upper_case(titled, c);
    is_inside = is_letter(c);
  }
  return titled;
}

/// Whether every character passes the test; false for an empty text.
template <bool (*is)(char32_t)>
Result<Value> all_are(const Value& text, Call& call) {
  SLUICE_TRY(call.work.spend(text.text()->size()));
  for (std::size_t at = 0; at < text.text()->size();) {
    if (!is(next_character(*text.text(), at))) return Value(false);
  }
  return Value(!text.text()->empty());
}

/// Whether no character has the other case, and one has this.
template <bool (*is)(char32_t), bool (*is_other)(char32_t)>
Result<Value> has_case(const Value& text, Call& call) {
  SLUICE_TRY(call.work.spend(text.text()->size()));
  bool is_found = false;
  for (std::size_t at = 0; at < text.text()->size();) {
    const char32_t c = next_character(*text.text(), at);
    if (is_other(c)) return Value(false);
    is_found = is_found || is(c);
  }
  return Value(is_found);
}

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char32_t c) { return is_letter(c) || is_numeric(c); }

constexpr NamedFunction kMethods[] = {
    {"capitalize", changed<capitalize>},
    {"count", count},
    {"endswith", has_end<true>},
    {"find", find<false>},
    {"isalnum", all_are<is_letter_or_digit>},
    {"isalpha", all_are<is_letter>},
    {"isdigit", all_are<is_digit>},
    {"islower", has_case<is_lower_case, is_upper_case>},
    {"isspace", all_are<is_space>},
    {"isupper", has_case<is_upper_case, is_lower_case>},
    {"join", join},
    {"lower", changed<lower>},
    {"lstrip", strip_ends<Side::kLeft>},
    {"partition", partition<false>},
    {"removeprefix", remove_end<false>},
    {"removesuffix", remove_end<true>},
    {"replace", replace_all},
    {"rfind", find<true>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip_ends<Side::kRight>},
    {"split", split<false>},
    {"splitlines", split_into_lines},
    {"startswith", has_end<false>},
    {"strip", strip_ends<Side::kBoth>},
    {"title", changed<title>},
    {"upper", changed<upper>},
};

}  // namespace

const NamedFunction* find_text_method(std::string_view name) {
  return find_function(kMethods, name);
}

std::string upper(std::string_view text) {
  std::string to;
  for (std::size_t at = 0; at < text.size();) append_upper_case(to, next_character(text, at));
  return to;
}

std::string lower(std::string_view text) {
  std::string to;
  for (std::size_t at = 0; at < text.size();) append_lower_case(to, next_character(text, at));
  return to;
}

std::string capitalize(std::string_view text) {
  std::string to;
  std::size_t at = 0;
  if (!text.empty()) append_upper_case(to, next_character(text, at));
  return to + lower(text.substr(at));
}

Result<std::string> replace(std::string_view text, std::string_view from, std::string_view to,
                            std::int64_t count, Work& work) {
  SLUICE_TRY(work.spend(text.size()));
  std::string replaced;
  // `begin` is where the text that is not copied yet starts; `search` is ahead of it by one
  // character where an empty text is replaced.
  std::size_t begin = 0;
  std::size_t search = 0;
  while (count != 0) {
    const std::size_t at = find_text(text, from, search);
    if (at == std::string_view::npos) break;
    SLUICE_TRY(work.spend(to.size() + 1));
    SLUICE_TRY(Work::check_text(replaced.size()));
    replaced += text.substr(begin, at - begin);
    replaced += to;
    begin = at + from.size();
    search = begin;
    if (from.empty()) {  // between all characters: step over one
      if (at == text.size()) break;
      next_character(text, search);
    }
    if (count > 0) --count;
  }
  replaced += text.substr(begin);
  SLUICE_TRY(work.spend_text(replaced.size()));
  return replaced;
}

}  // namespace sluice::text::jinja
