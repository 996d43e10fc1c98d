#include "ops/history/operator_history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "ops/history/similar_name.h"
#include "ops/history/table.h"

namespace sluice::ops {
namespace {

/// Cuts off what stands before `separator`, or everything.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

int number(std::string_view digits) {
  int value = 1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// "axes@1-12>", "name@13" or "name".
AttributeHistory read_attribute(std::string_view text) {
  AttributeHistory attribute;
  attribute.became_input = text.ends_with('>');
  if (attribute.became_input) text.remove_suffix(1);
  attribute.name = take(text, '@');
  if (text.empty()) return attribute;
  attribute.first = number(take(text, '-'));
  if (!text.empty()) attribute.last = number(text);
  return attribute;
}

/// A line is a name, the opsets that changed it, and its attributes: "Clip 1,6,11 min@1-10>
/// max@1-10>".
OperatorHistory read_line(std::string_view domain, std::string_view line) {
  OperatorHistory history;
  history.domain = domain;
  history.name = take(line, ' ');
  history.first = number(line);  // of a list
  take(line, ' ');
  while (!line.empty()) history.attributes.push_back(read_attribute(take(line, ' ')));
  return history;
}

using Key = std::pair<std::string_view, std::string_view>;
using Histories = std::map<Key, OperatorHistory>;

/// Parsed at the first use: only errors need it.
const Histories& histories() {
  static const Histories kHistories = [] {
    Histories made;
    for (const HistoryText& text : history_texts()) {
      std::string_view lines = text.lines;
      while (!lines.empty()) {
        const std::string_view line = take(lines, '\n');
        if (line.empty()) continue;
        OperatorHistory history = read_line(text.domain, line);
        made.emplace(Key(history.domain, history.name), std::move(history));
      }
    }
    return made;
  }();
  return kHistories;
}

/// Advice on an attribute that other opsets have.
std::string advise_on_opset(const OperatorHistory& history, int opset, std::string_view attribute) {
  const AttributeHistory* past = nullptr;
  for (const AttributeHistory& known : history.attributes) {
    if (known.name != attribute) continue;
    if (known.first > opset) return fmt::format("it came with opset {}", known.first);
    past = &known;
  }
  if (past == nullptr) return "";
  const char* became = past->became_input ? "is an input" : "no longer exists";
  return fmt::format("it {} since opset {}", became, past->last + 1);
}

}  // namespace

bool OperatorHistory::has_attribute(std::string_view attribute, int opset) const {
  return std::ranges::any_of(attributes, [&](const AttributeHistory& known) {
    return known.name == attribute && known.first <= opset && opset <= known.last;
  });
}

const OperatorHistory* find_history(std::string_view domain, std::string_view name) {
  const auto found = histories().find({domain, name});
  return found == histories().end() ? nullptr : &found->second;
}

std::string advise_on_attribute(const OperatorHistory& history, int opset,
                                std::string_view attribute) {
  std::string advice = advise_on_opset(history, opset, attribute);
  if (!advice.empty()) return advice;
  std::vector<std::string_view> names;
  for (const AttributeHistory& known : history.attributes) {
    if (known.first <= opset && opset <= known.last) names.push_back(known.name);
  }
  if (names.empty()) return "it takes none";
  const std::string_view similar = similar_name(attribute, names);
  if (!similar.empty()) return fmt::format("did you mean \"{}\"?", similar);
  return fmt::format("it takes {}", fmt::join(names, ", "));
}

std::optional<std::string_view> similar_operator(std::string_view domain, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [key, history] : histories()) {
    if (key.first == domain) names.push_back(key.second);
  }
  const std::string_view similar = similar_name(name, names);
  return similar.empty() ? std::nullopt : std::optional(similar);
}

}  // namespace sluice::ops
