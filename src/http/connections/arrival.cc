#include "http/connections/arrival.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/utf8.h"

namespace sluice::http {
namespace {

/// What a body gets at first: one that is not larger is never moved.
constexpr std::size_t kFirstBytes = 1 << 20;
/// The same of one whose size nobody says.
constexpr std::size_t kFirstChunk = 16 << 10;
constexpr std::int64_t kNsPerByte = 62'500;  // of a body, on average, after the first idle time

struct TextField {
  std::string_view name;
  std::string Request::*value;
};

constexpr std::array<TextField, 8> kTexts = {{
    {"Accept", &Request::accept},
    {"Accept-Encoding", &Request::accept_encoding},
    {"Authorization", &Request::authorization},
    {"If-None-Match", &Request::if_none_match},
    {"endpoint-load-metrics-format", &Request::load_format},
    {"traceparent", &Request::traceparent},
    {"tracestate", &Request::tracestate},
    {"X-Request-ID", &Request::request_id},
}};

/// A count without sign, space or overflow; -1 for what is none.
std::int64_t count_of(std::string_view text) {
  constexpr std::size_t kMaxDigits = 15;
  if (text.empty() || text.size() > kMaxDigits) return -1;
  std::int64_t count = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return -1;
    count = 10 * count + (digit - '0');
  }
  return count;
}

Refusal ambiguous(std::string_view what) { return {400, std::string(what)}; }

}  // namespace

std::optional<Refusal> Arrival::take_field(std::string_view name, std::string_view value) {
  for (const TextField& text : kTexts) {
    if (!is_same_word(name, text.name)) continue;
    std::string& kept = request_.*text.value;
    if (kept.empty()) kept = value;
    return std::nullopt;
  }
  if (is_same_word(name, "Host")) {
    // RFC 9112, section 3.2: whoever looks at another Host than the guard of the daemon must not
    // pass.
    if (std::exchange(has_host_, true)) return ambiguous("a request has one Host");
    request_.host = value;
  } else if (is_same_word(name, "Origin")) {
    if (std::exchange(has_origin_, true)) return ambiguous("a request has at most one Origin");
    request_.origin = value;
  } else if (is_same_word(name, kJsonBytes)) {
    if (request_.json_bytes >= 0) return std::nullopt;
    request_.json_bytes = count_of(value);
    if (request_.json_bytes < 0) return Refusal{400, fmt::format("{} is no count", kJsonBytes)};
  } else if (is_same_word(name, "Content-Encoding")) {
    return take_coding(value);
  } else if (is_same_word(name, "Expect")) {
    if (!is_same_word(value, "100-continue")) {
      return Refusal{417, "Expect: the daemon knows 100-continue alone"};
    }
    waits_for_word_ = true;
  }
  return std::nullopt;
}

std::optional<Refusal> Arrival::take_coding(std::string_view value) {
  const auto coding = find_coding(value);
  if (!coding || std::exchange(has_coding_, true)) {
    return Refusal{415, "Content-Encoding: the daemon takes gzip or deflate"};
  }
  request_.coding = *coding;
  return std::nullopt;
}

void Arrival::begin_body(std::shared_ptr<ByteBudget> budget, std::size_t announced_bytes,
                         std::int64_t limit_bytes, std::int64_t now_ns) {
  body_ = std::make_shared<Body>(std::move(budget), request_.json_bytes, limit_bytes);
  announced_bytes_ = announced_bytes;
  body_began_ns_ = now_ns;
}

Status Arrival::make_room() {
  if (body_->room() > 0) return ok_status();
  if (announced_bytes_ == 0) return body_->reserve(body_->size() + kFirstChunk);
  const std::size_t wanted = body_->size() + std::min(left_bytes(), kFirstBytes);
  return body_->reserve(std::min(wanted, announced_bytes_));
}

Status Arrival::add(std::string_view bytes) {
  while (!bytes.empty()) {
    SLUICE_TRY(make_room());
    const std::size_t num = std::min(bytes.size(), body_->room());
    std::memcpy(body_->end(), bytes.data(), num);
    body_->add(num);
    bytes.remove_prefix(num);
  }
  return ok_status();
}

std::int64_t Arrival::late_ns(std::int64_t last_ns, std::int64_t idle_ns) const {
  const auto earned_ns = static_cast<std::int64_t>(body_->size()) * kNsPerByte;
  return std::min(last_ns + idle_ns, body_began_ns_ + idle_ns + earned_ns);
}

Request Arrival::take() {
  request_.body = std::move(body_);
  return std::move(request_);
}

Refusal body_refusal(const Status& status) { return {body_status(status), status.message()}; }

}  // namespace sluice::http
