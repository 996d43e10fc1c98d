#include "http/call.h"

#include <fmt/format.h>

#include <utility>

#include "http/json_text.h"

namespace sluice::http {
int http_status(Code code) {
  switch (code) {
    case Code::kUnauthenticated: return 401;
    case Code::kPermissionDenied: return 403;
    case Code::kNotFound: return 404;
    case Code::kUnimplemented: return 501;
    case Code::kUnavailable:
    case Code::kResourceExhausted: return 503;
    case Code::kDeadlineExceeded: return 504;
    case Code::kInternal:
    case Code::kUnknown:
    case Code::kDataLoss: return 500;
    default: return 400;
  }
}

Reply error_reply(int status, std::string_view message) {
  return {status, kJson, json_text({{"error", message}})};
}

Reply error_reply(const Status& status) {
  return error_reply(http_status(status.code()), status.message());
}

Reply wrong_method(std::string allowed) {
  Reply reply = error_reply(405, fmt::format("this path takes {}", allowed));
  reply.allow = std::move(allowed);
  return reply;
}

}  // namespace sluice::http
