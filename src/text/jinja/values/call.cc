#include "text/jinja/values/call.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::text::jinja {

const Value* Call::next(std::string_view name) {
  if (next_ < arguments_.positional.size()) return &arguments_.positional[next_++];
  auto& named = arguments_.named;
  const auto found = std::ranges::find(
      named, name, [](const auto& entry) { return std::string_view(entry.first); });
  if (found == named.end()) return nullptr;
  // The argument moves to the taken ones, so that `finish` finds the names that nobody asked for.
  arguments_.positional.push_back(std::move(found->second));
  named.erase(found);
  return &arguments_.positional[next_++];
}

Result<std::string> Call::copy_of(const std::string& text) {
  SLUICE_TRY(work.spend_text(text.size()));
  return text;
}

Result<Value> Call::value(std::string_view name) {
  const Value* given = next(name);
  if (given == nullptr) return error(fmt::format("the argument \"{}\" is missing", name));
  return *given;
}

Result<Value> Call::value_or(std::string_view name, const Value& fallback) {
  const Value* given = next(name);
  return given == nullptr ? fallback : *given;
}

Result<std::string> Call::text(std::string_view name) {
  const Value given = SLUICE_TRY(value(name));
  if (given.text() != nullptr) return copy_of(*given.text());
  return error(fmt::format("\"{}\" takes a text, not {}", name, given.kind()));
}

Result<std::string> Call::text_or(std::string_view name, std::string_view fallback) {
  const Value* given = next(name);
  if (given == nullptr || given->is_none()) return std::string(fallback);
  if (given->text() != nullptr) return copy_of(*given->text());
  return error(fmt::format("\"{}\" takes a text, not {}", name, given->kind()));
}

Result<std::int64_t> Call::whole_or(std::string_view name, std::int64_t fallback) {
  const Value* given = next(name);
  if (given == nullptr || given->is_none()) return fallback;
  if (const auto number = given->whole()) return *number;
  return error(fmt::format("\"{}\" takes a whole number, not {}", name, given->kind()));
}

Result<bool> Call::truth_or(std::string_view name, bool fallback) {
  const Value* given = next(name);
  return given == nullptr ? fallback : given->is_true();
}

std::vector<Value> Call::rest() {
  const auto begin = arguments_.positional.begin() + static_cast<std::ptrdiff_t>(next_);
  next_ = arguments_.positional.size();
  return {begin, arguments_.positional.end()};
}

std::vector<std::pair<std::string, Value>> Call::named_rest() {
  return std::exchange(arguments_.named, {});
}

Status Call::finish() const {
  if (next_ < arguments_.positional.size()) return error("there are too many arguments");
  if (arguments_.named.empty()) return ok_status();
  return error(fmt::format("there is no argument \"{}\"", arguments_.named.front().first));
}

Status Call::error(std::string_view problem) const {
  return invalid_argument("{}: {}", function_, problem);
}

}  // namespace sluice::text::jinja
