#include "http/connections/http2_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "http/connections/reply_fields.h"

namespace sluice::http {

std::optional<Refusal> Http2Stream::take_field(std::string_view name, std::string_view value) {
  Request& request = arrival.request();
  if (name == ":method") {
    request.method = value;
    is_head_only = value == "HEAD";
  } else if (name == ":path") {
    request.path = value.substr(0, value.find('?'));
  } else if (name == ":authority") {
    return arrival.take_field("host", value);
  } else if (name == "host" && arrival.has_host() && value == request.host) {
    // RFC 9113, section 8.3.1 allows both with one value.
  } else if (name == "content-length") {
    // nghttp2 has checked that it is a count, and compares it with what comes.
    std::size_t count = 0;
    for (const char digit : value) count = 10 * count + static_cast<std::size_t>(digit - '0');
    announced_bytes = count;
  } else if (!name.starts_with(':')) {
    return arrival.take_field(name, value);
  }
  return std::nullopt;
}

void Http2Stream::begin_reply(Reply of_request) {
  reply = std::move(of_request);
  is_replying = true;
  if (is_head_only) reply.stream = nullptr;
  if (reply.stream != nullptr) return;
  cancel = nullptr;  // whoever computed it needs to hear nothing more of its client
  if (!is_head_only) unsent = parts_of(reply);
  std::erase_if(unsent, [](std::string_view part) { return part.empty(); });
}

std::size_t Http2Stream::read(std::span<std::uint8_t> to) {
  if (unsent.empty() && reply.stream != nullptr) {
    piece = reply.stream->take();
    if (!piece.empty()) {
      unsent = {piece};
    } else if (reply.stream->is_over()) {
      reply.stream = nullptr;
      cancel = nullptr;
    }
  }
  std::size_t num = 0;
  while (!unsent.empty() && num < to.size()) {
    std::string_view& part = unsent.front();
    const std::size_t size = std::min(part.size(), to.size() - num);
    std::memcpy(to.data() + num, part.data(), size);
    num += size;
    part.remove_prefix(size);
    if (part.empty()) unsent.erase(unsent.begin());
  }
  return num;
}

std::int64_t Http2Stream::late_ns(std::int64_t idle_ns) const {
  if (is_replying) return is_deferred ? kNoDeadline : moved_ns + idle_ns;
  if (is_complete || !arrival.has_body()) return kNoDeadline;
  return arrival.late_ns(moved_ns, idle_ns);
}

}  // namespace sluice::http
