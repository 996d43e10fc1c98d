// Text of JSON values that replies are made of.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace sluice::http {

/// Strings may hold any bytes: what is no UTF-8 becomes U+FFFD, where the library would throw.
inline std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The same of a text, for replies that must be quick: most texts need no escape, and then no value
/// of the library is made.
inline std::string quoted_json(std::string_view text) {
  const auto is_plain = [](char one) {
    return one >= ' ' && one <= '~' && one != '"' && one != '\\';
  };
  if (!std::ranges::all_of(text, is_plain)) return json_text(std::string(text));
  std::string quoted;
  quoted.reserve(text.size() + 2);
  return quoted.append(1, '"').append(text).append(1, '"');
}

}  // namespace sluice::http
