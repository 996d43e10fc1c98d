#include "http/openai_error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "terms/runtime_code.h"

namespace sluice::http {
namespace {

using Json = nlohmann::ordered_json;

/// What names of fields and their places consist of.
constexpr std::string_view kOfFields = "abcdefghijklmnopqrstuvwxyz_0123456789[].";

std::string_view kind_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 429: return "rate_limit_error";
    default: return status < 500 ? "invalid_request_error" : "server_error";
  }
}

bool is_full(const Status& status) {
  return terms::runtime_code_of(status) == RuntimeCode::kQueueFull;
}

int status_of(const Status& status) {
  if (status.code() == Code::kUnimplemented) return 400;
  return is_full(status) ? 429 : http_status(status.code());
}

/// "messages[2]" of "messages[2]: expected ..."; null where the message is about no field.
Json param_of(const Status& status) {
  if (status.code() != Code::kInvalidArgument && status.code() != Code::kUnimplemented) return {};
  const std::string_view message = status.message();
  const std::size_t size = message.find_first_not_of(kOfFields);
  if (size == 0 || size == std::string_view::npos || !message.substr(size).starts_with(": ")) {
    return {};
  }
  return std::string(message.substr(0, size));
}

Json code_of(const Status& status) {
  if (is_full(status)) return "rate_limit_exceeded";
  switch (status.code()) {
    case Code::kNotFound: return "model_not_found";
    case Code::kOutOfRange: return "context_length_exceeded";
    case Code::kUnimplemented: return "unsupported_parameter";
    default: return {};
  }
}

Reply reply_of(int status, std::string_view message, Json param, Json code) {
  const Json json = {{"error",
                      {{"message", valid_utf8(message)},
                       {"type", kind_of(status)},
                       {"param", std::move(param)},
                       {"code", std::move(code)}}}};
  Reply reply;
  reply.status = status;
  reply.text = json.dump();
  return reply;
}

}  // namespace

Reply openai_error(const Status& status) {
  Reply reply = reply_of(status_of(status), status.message(), param_of(status), code_of(status));
  if (reply.status == 429 || reply.status == 503) reply.fields = "Retry-After: 1\r\n";
  return reply;
}

Reply no_openai_path() {
  return reply_of(404,
                  "no such path; there are /v1/models, /v1/completions, /v1/chat/completions, "
                  "/v1/embeddings, /v1/rerank, and /v2/models/NAME/infer for tensors",
                  {}, "unknown_url");
}

Reply too_large_for_openai(std::size_t size_bytes, std::size_t limit_bytes) {
  return reply_of(
      413,
      fmt::format("the body has {} bytes; at most {} are read: send fewer texts at once",
                  size_bytes, limit_bytes),
      {}, {});
}

Reply wrong_openai_method(std::string allowed) {
  Reply reply = reply_of(405, fmt::format("this path takes {}", allowed), {}, {});
  reply.allow = std::move(allowed);
  return reply;
}

}  // namespace sluice::http
