// Reads any bytes as what a client sends behind HTTP/2's preface, in pieces of the size that the
// first byte says, and answers requests late. No client has more computed than it may ask for, and
// what is sent ends.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "http/connections/http2_session.h"
#include "http2/frames.h"

namespace {

using namespace sluice;
using http::Http2Session;

/// Every third is long, every third a stream.
http::Reply reply_of(Http2Session::StreamId id) {
  http::Reply reply = {200, http::kText, "short"};
  if (id % 3 == 1) reply.text.assign(100'000, 'x');
  if (id % 3 != 2) return reply;
  reply.stream = std::make_shared<http::ReplyStream>([] {});
  reply.stream->push("piece");
  reply.stream->end();
  return reply;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  constexpr std::size_t kMostSends = 1000;
  if (size < 1) return 0;
  std::string all(http2::kPreface);
  all.append(reinterpret_cast<const char*>(data + 1), size - 1);
  http::ServerOptions options;
  options.max_body_bytes = 1 << 16;
  std::deque<Http2Session::StreamId> asked;
  std::deque<Http2Session::StreamId> woken;
  const auto session =
      Http2Session::create(options, std::make_shared<ByteBudget>(1 << 20), {},
                           {.compute =
                                [&asked](Http2Session::StreamId id, const http::Request& request) {
                                  if (request.body == nullptr) std::abort();
                                  asked.push_back(id);
                                  return http::Cancel();
                                },
                            .wake = [&woken](Http2Session::StreamId id) { woken.push_back(id); }},
                           0)
          .value();
  const std::size_t piece = 1 + data[0];
  std::int64_t now_ns = 0;
  bool goes_on = true;
  for (std::size_t at = 0; at < all.size() && goes_on; at += piece) {
    now_ns += kMillisecond;
    goes_on = session->take(std::string_view(all).substr(at, piece), now_ns).is_ok();
    if (asked.size() > Http2Session::kMaxStreams) std::abort();
    if (goes_on && !asked.empty() && at % 3 == 0) {
      session->answer(asked.front(), reply_of(asked.front()), now_ns);
      asked.pop_front();
    }
    for (; !woken.empty(); woken.pop_front()) session->resume(woken.front(), now_ns);
    std::size_t num_sends = 0;
    while (!session->send(now_ns).empty()) {
      if (++num_sends > kMostSends) std::abort();
    }
    goes_on = goes_on && session->check_time(now_ns).is_ok() && !session->is_over();
  }
  session->cancel();
  return 0;
}
