#include "description/json_reader.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice::sim {
namespace {

/// Deeper than any description; bounds what a hostile text makes the parser keep.
constexpr int kDeepest = 32;

/// Notices what a plain parse would let pass: nesting without end, a key that stands twice. From
/// then on it keeps nothing.
struct Guard {
  std::string problem;
  std::vector<std::set<std::string>> keys;  ///< of the objects that are open

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (!problem.empty()) return false;
    if (depth > kDeepest) {
      problem = "nested more than " + std::to_string(kDeepest) + " deep";
    } else if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) problem = "the key \"" + key + "\" stands twice";
    }
    return problem.empty();
  }
};

std::string list_of(const auto& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

}  // namespace

Status parse_json(std::string_view text, Json* json) {
  Guard guard;
  const auto check = [&guard](int depth, Json::parse_event_t event, const Json& parsed) {
    return guard(depth, event, parsed);
  };
  std::string problem;
  try {
    *json = Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    problem = "no JSON: wrong near byte " + std::to_string(error.byte) + " of " +
              std::to_string(text.size());
  } catch (const Json::exception&) {
    problem = "no JSON: a number is too large";
  }
  if (!guard.problem.empty()) problem = guard.problem;
  return problem.empty() ? plugin::ok() : plugin::invalid_argument(problem);
}

ObjectReader::ObjectReader(const Json& json, std::string path, Status* status)
    : json_(json), path_(std::move(path)), status_(status) {
  check(json.is_object(), "", "must be an object");
}

std::string ObjectReader::path_of(const std::string& key) const {
  if (path_.empty() || key.empty()) return path_ + key;
  return path_ + "." + key;
}

bool ObjectReader::check(bool condition, const std::string& key, const std::string& problem) {
  // The first problem stays: what follows may be its consequence.
  if (condition || !status_->is_ok()) return status_->is_ok();
  const std::string path = path_of(key);
  *status_ = plugin::invalid_argument((path.empty() ? "the description" : path) + ": " + problem);
  return false;
}

const Json* ObjectReader::find(const char* key) {
  if (!status_->is_ok()) return nullptr;
  known_.emplace_back(key);
  const auto found = json_.find(key);
  return found != json_.end() ? &*found : nullptr;
}

void ObjectReader::require(const char* key) {
  if (status_->is_ok()) check(json_.contains(key), key, "is missing");
}

void ObjectReader::number(const char* key, double least, double most, double* target) {
  const Json* value = find(key);
  if (value == nullptr || !check(value->is_number(), key, "must be a number")) return;
  const auto got = value->get<double>();
  if (check(
          got >= least && got <= most, key,
          value->dump() + " is out of range, " + Json(least).dump() + " to " + Json(most).dump())) {
    *target = got;
  }
}

void ObjectReader::integer(const char* key, std::int64_t least, std::int64_t most,
                           std::int64_t* target) {
  const Json* value = find(key);
  if (value == nullptr || !check(value->is_number(), key, "must be a whole number")) return;
  // 1e9 is a whole number too; past 2^53 a double is not exact, and past all limits here.
  const bool is_exact = value->is_number_integer() && !value->is_number_unsigned();
  const double rough = value->get<double>();
  const bool is_whole = value->is_number_integer() || rough == std::floor(rough);
  if (!check(is_whole, key, value->dump() + " is no whole number")) return;
  const bool fits = rough >= static_cast<double>(least) && rough <= static_cast<double>(most);
  if (check(fits, key,
            value->dump() + " is out of range, " + std::to_string(least) + " to " +
                std::to_string(most))) {
    *target = std::clamp(is_exact ? value->get<std::int64_t>() : static_cast<std::int64_t>(rough),
                         least, most);
  }
}

void ObjectReader::integer(const char* key, std::int64_t least, std::int64_t most, int* target) {
  std::int64_t wide = *target;
  integer(key, least, most, &wide);
  *target = static_cast<int>(wide);
}

void ObjectReader::boolean(const char* key, bool* target) {
  const Json* value = find(key);
  if (value != nullptr && check(value->is_boolean(), key, "must be true or false")) {
    *target = value->get<bool>();
  }
}

void ObjectReader::text(const char* key, std::string* target) {
  const Json* value = find(key);
  if (value != nullptr && check(value->is_string(), key, "must be a text")) {
    *target = value->get<std::string>();
  }
}

void ObjectReader::one_of(const char* key, const std::vector<const char*>& names, int* target) {
  std::string got;
  text(key, &got);
  if (got.empty() && (!status_->is_ok() || !json_.contains(key))) return;
  const auto found = std::ranges::find(names, got);
  if (check(found != names.end(), key, "\"" + got + "\"; expected one of " + list_of(names))) {
    *target = static_cast<int>(found - names.begin());
  }
}

void ObjectReader::finish() {
  if (!status_->is_ok()) return;
  for (const auto& [key, value] : json_.items()) {
    const bool is_known = std::ranges::find(known_, key) != known_.end();
    if (!check(is_known, key, "no such key; there are: " + list_of(known_))) return;
  }
}

}  // namespace sluice::sim
