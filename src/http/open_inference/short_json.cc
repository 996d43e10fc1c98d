#include "http/open_inference/short_json.h"

namespace sluice::http {

Result<nlohmann::json> read_short_json(std::string_view body, std::size_t most_bytes) {
  if (body.empty()) return nlohmann::json::object();
  if (body.size() > most_bytes) {
    return invalid_argument("the body has more than {} bytes", most_bytes);
  }
  auto object = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return invalid_argument("the body is no JSON object");
  return object;
}

}  // namespace sluice::http
