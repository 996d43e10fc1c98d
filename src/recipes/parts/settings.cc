#include "recipes/parts/settings.h"

#include <cmath>
#include <limits>
#include <utility>

namespace sluice::recipes {

Settings::Settings(nlohmann::json object, std::string path)
    : object_(std::move(object)), path_(std::move(path)) {
  if (!object_.is_object()) {
    // The settings go on as an empty object: a recipe reads all it needs and checks once, in
    // finish().
    fail(invalid_argument("{}: expected an object", path_.empty() ? "the text" : path_));
    object_ = nlohmann::json::object();
  }
}

bool Settings::has(std::string_view name) const {
  const auto found = object_.find(name);
  return found != object_.end() && !found->is_null();
}

const nlohmann::json* Settings::find(std::string_view name) {
  // Asking for a setting marks it as known, whether or not it is there. finish() refuses all
  // others: a setting that nobody reads may change what the model computes.
  read_.emplace(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const nlohmann::json* Settings::find_required(std::string_view name) {
  const nlohmann::json* found = find(name);
  if (found == nullptr) fail(invalid_argument("{}{}: missing", path_, name));
  return found;
}

void Settings::fail(Status status) {
  // The first error is the cause; later ones often follow from it.
  if (status_.is_ok()) status_ = std::move(status);
}

void Settings::expected(std::string_view name, std::string_view what) {
  fail(invalid_argument("{}{}: expected {}", path_, name, what));
}

std::int64_t Settings::whole(std::string_view name, std::int64_t least, std::int64_t most) {
  // Every reader returns a value in range also after an error, so that a recipe may compute with
  // it.
  if (find_required(name) == nullptr) return least;
  return whole_or(name, least, least, most);
}

std::int64_t Settings::whole_or(std::string_view name, std::int64_t fallback, std::int64_t least,
                                std::int64_t most) {
  const nlohmann::json* found = find(name);
  if (found == nullptr) return fallback;
  // Numbers beyond i64 come as unsigned ones.
  const bool is_huge = found->is_number_unsigned() &&
                       found->get<std::uint64_t>() >
                           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (found->is_number_integer() && !is_huge) {
    const auto value = found->get<std::int64_t>();
    if (value >= least && value <= most) return value;
  }
  expected(name, fmt::format("a whole number between {} and {}", least, most));
  return fallback;
}

double Settings::number(std::string_view name) {
  if (find_required(name) == nullptr) return 1;
  return number_or(name, 1);
}

double Settings::number_or(std::string_view name, double fallback) {
  const nlohmann::json* found = find(name);
  if (found == nullptr) return fallback;
  if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
  expected(name, "a number");
  return fallback;
}

bool Settings::flag_or(std::string_view name, bool fallback) {
  const nlohmann::json* found = find(name);
  if (found == nullptr) return fallback;
  if (found->is_boolean()) return found->get<bool>();
  expected(name, "true or false");
  return fallback;
}

std::string Settings::text_or(std::string_view name, std::string_view fallback) {
  const nlohmann::json* found = find(name);
  if (found == nullptr) return std::string(fallback);
  if (found->is_string()) return found->get<std::string>();
  expected(name, "a text");
  return std::string(fallback);
}

nlohmann::json Settings::value(std::string_view name) {
  const nlohmann::json* found = find(name);
  return found == nullptr ? nlohmann::json() : *found;
}

Settings Settings::inner(std::string_view name) {
  const nlohmann::json* found = find(name);
  return Settings(found == nullptr ? nlohmann::json::object() : *found,
                  fmt::format("{}{}.", path_, name));
}

/// For switches of which one position is implemented. Absent means the implemented one, as the
/// defaults of config.json do.
void Settings::require_flag(std::string_view name, bool wanted) {
  if (flag_or(name, wanted) == wanted) return;
  fail(unimplemented("{}{}: {} is not supported", path_, name, !wanted));
}

void Settings::require_text(std::string_view name, std::string_view wanted) {
  const std::string given = text_or(name, wanted);
  if (given == wanted) return;
  fail(unimplemented("{}{}: \"{}\" is not supported, \"{}\" is", path_, name, given, wanted));
}

void Settings::ignore(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) read_.emplace(name);
}

Status Settings::finish() const {
  if (!status_.is_ok()) return status_;
  for (const auto& [name, value] : object_.items()) {
    // A feature that is switched off changes nothing, whichever it is. Names with an underscore are
    // notes of the tool that wrote the file.
    const bool says_nothing = value.is_null() || value == false || name.starts_with('_');
    if (says_nothing || read_.contains(name)) continue;
    return unimplemented("{}{}: this setting is not known, and may change what the model computes",
                         path_, name);
  }
  return ok_status();
}

}  // namespace sluice::recipes
