#include "http/call.h"

#include <fmt/format.h>

#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "http/json_text.h"

namespace sluice::http {
namespace {

int hex_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::size_t Reply::size_bytes() const {
  std::size_t size = text.size();
  for (const std::string_view part : parts) size += part.size();
  return size;
}

Answer first_of(Answer answer) {
  return [is_answered = std::make_shared<std::atomic<bool>>(false),
          answer = std::move(answer)](Reply reply) {
    if (!is_answered->exchange(true)) answer(std::move(reply));
  };
}

Result<std::string> decode_path(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_of(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_of(text[i + 2]) : -1;
    if (high < 0 || low < 0) return invalid_argument("the path has a bad percent sign");
    decoded += static_cast<char>(16 * high + low);
    i += 2;
  }
  if (valid_utf8(decoded) != decoded) return invalid_argument("the path is not UTF-8");
  return decoded;
}

int http_status(Code code) {
  switch (code) {
    case Code::kUnauthenticated: return 401;
    case Code::kPermissionDenied: return 403;
    case Code::kNotFound: return 404;
    case Code::kCancelled: return 499;  // as other servers say that the client went
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

int body_status(const Status& status) {
  switch (status.code()) {
    case Code::kInvalidArgument: return 413;
    case Code::kDataLoss: return 400;
    default: return 503;  // the client can send less, or later
  }
}

Status decode_body(Request& request) {
  if (request.coding == Coding::kIdentity || request.body->size() == 0) return ok_status();
  const auto body = std::make_shared<Body>(request.body->empty_one(request.json_bytes));
  SLUICE_TRY(decode(request.body->bytes(), request.coding, *body));
  request.body = body;
  request.coding = Coding::kIdentity;
  return ok_status();
}

void encode_body(Reply& reply) {
  if (reply.coding == Coding::kIdentity || !reply.coded.empty()) return;
  std::vector<std::string_view> parts = {reply.text};
  parts.insert(parts.end(), reply.parts.begin(), reply.parts.end());
  auto coded = reply.stream == nullptr ? encode(parts, reply.coding) : Result<std::string>("");
  if (coded.is_ok() && !coded->empty() && coded->size() < reply.size_bytes()) {
    reply.coded = std::move(*coded);
  } else {
    reply.coding = Coding::kIdentity;
  }
}

Reply error_reply(int status, std::string_view message) {
  return {status, kJson, json_text({{"error", message}})};
}

Reply error_reply(const Status& status) {
  return error_reply(http_status(status.code()), status.message());
}

Cancel answer_now(const Answer& answer, Result<Reply> reply) {
  answer(reply.is_ok() ? std::move(*reply) : error_reply(reply.status()));
  return nullptr;
}

Reply wrong_method(std::string allowed) {
  Reply reply = error_reply(405, fmt::format("this path takes {}", allowed));
  reply.allow = std::move(allowed);
  return reply;
}

}  // namespace sluice::http
