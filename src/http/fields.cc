#include "http/fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/json/json_reader.h"
#include "base/utf8.h"

namespace sluice::http {
namespace {

constexpr int kMaxDepth = 64;

/// What changes no text.
constexpr std::array<std::string_view, 11> kIgnored = {"metadata",
                                                       "parallel_tool_calls",
                                                       "prediction",
                                                       "prompt_cache_key",
                                                       "prompt_cache_retention",
                                                       "safety_identifier",
                                                       "service_tier",
                                                       "store",
                                                       "stream_id",
                                                       "system_fingerprint",
                                                       "user"};

}  // namespace

Result<Fields> Fields::read(std::string_view body) {
  if (body.size() > kMaxBodyBytes) {
    return invalid_argument("the body has {} bytes; at most {} are read", body.size(),
                            kMaxBodyBytes);
  }
  Json json = SLUICE_TRY(parse_ordered_json(body, kMaxDepth));
  if (!json.is_object()) return invalid_argument("the body is no JSON object");
  return Fields(std::move(json));
}

Fields::Json Fields::take(const char* name) {
  const auto found = object_.find(name);
  if (found == object_.end()) return nullptr;
  Json value = std::move(*found);
  object_.erase(found);
  return value;
}

Result<std::optional<std::string>> Fields::text(const char* name) {
  const Json value = take(name);
  if (value.is_null()) return std::optional<std::string>();
  if (!value.is_string()) return invalid_argument("{}: expected a text", name);
  return std::optional(value.get<std::string>());
}

Result<bool> Fields::flag(const char* name) {
  const Json value = take(name);
  if (value.is_null()) return false;
  if (!value.is_boolean()) return invalid_argument("{}: expected true or false", name);
  return value.get<bool>();
}

Result<std::optional<std::int64_t>> Fields::count(const char* name, std::int64_t least,
                                                  std::int64_t most) {
  const Json value = take(name);
  if (value.is_null()) return std::optional<std::int64_t>();
  return std::optional(SLUICE_TRY(count_of(value, name, least, most)));
}

Result<std::optional<float>> Fields::number(const char* name) {
  const Json value = take(name);
  if (value.is_null()) return std::optional<float>();
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (!std::isfinite(number)) return invalid_argument("{}: expected a number", name);
  return std::optional(static_cast<float>(number));
}

Result<std::vector<Fields::Json>> Fields::items(const char* name, std::size_t most) {
  Json value = take(name);
  if (value.is_null()) return std::vector<Json>();
  if (!value.is_array()) return invalid_argument("{}: expected a list", name);
  if (value.size() > most) {
    return invalid_argument("{}: a list of {}; at most {} are taken", name, value.size(), most);
  }
  return std::vector<Json>(std::make_move_iterator(value.begin()),
                           std::make_move_iterator(value.end()));
}

Result<std::string> Fields::required(const char* name) {
  auto given = SLUICE_TRY(text(name));
  if (!given || given->empty()) return invalid_argument("{}: missing", name);
  return std::move(*given);
}

Status Fields::merge(const char* name) {
  Json inner = take(name);
  if (inner.is_null()) return ok_status();
  if (!inner.is_object()) return invalid_argument("{}: expected an object", name);
  for (auto& [key, value] : inner.items()) object_.emplace(key, std::move(value));
  return ok_status();
}

Status Fields::check_unused(const char* name, std::initializer_list<Json> harmless) {
  const Json value = take(name);
  if (value.is_null() || std::ranges::find(harmless, value) != harmless.end()) return ok_status();
  return make_error(Code::kUnimplemented, "{}: not served yet; leave it out", name);
}

Status Fields::check_all_read() {
  for (const std::string_view name : kIgnored) object_.erase(std::string(name));
  if (object_.empty()) return ok_status();
  return invalid_argument("\"{}\" is a field that is not known here",
                          valid_utf8(object_.begin().key()).substr(0, 64));
}

Result<std::int64_t> Fields::count_of(const Json& value, const char* name, std::int64_t least,
                                      std::int64_t most) {
  // JSON has one kind of number: a client that computed one writes 5.0 or 1e1.
  const double given = value.is_number() ? value.get<double>() : std::nan("");
  if (given != std::trunc(given)) {
    return invalid_argument("{}: expected a whole number", name);
  }
  const bool is_huge = std::abs(given) > static_cast<double>(kMaxCount);
  const std::int64_t number = is_huge ? -1 : static_cast<std::int64_t>(given);
  if (is_huge || number < least || number > most) {
    return invalid_argument("{}: {} is not between {} and {}", name, value.dump(), least, most);
  }
  return number;
}

}  // namespace sluice::http
