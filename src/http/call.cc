#include "http/call.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace sluice::http {

Reply error_reply(int status, std::string_view message) {
  const nlohmann::json body = {{"error", valid_utf8(message)}};
  return {status, kJson, body.dump()};
}

}  // namespace sluice::http
