// Text of JSON values that replies are made of.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace sluice::http {

/// Strings may hold any bytes: what is no UTF-8 becomes U+FFFD, where the library would throw.
inline std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sluice::http
