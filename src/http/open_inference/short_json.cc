#include "http/open_inference/short_json.h"

#include <cstddef>

namespace sluice::http {

Result<nlohmann::json> read_short_json(std::string_view body) {
  constexpr std::size_t kMaxBytes = 4096;  // nested lists take many times their text
  if (body.empty()) return nlohmann::json::object();
  if (body.size() > kMaxBytes) {
    return invalid_argument("the body has more than {} bytes", kMaxBytes);
  }
  auto object = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return invalid_argument("the body is no JSON object");
  return object;
}

}  // namespace sluice::http
