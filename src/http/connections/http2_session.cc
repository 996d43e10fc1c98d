#include "http/connections/http2_session.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "http/connections/reply_fields.h"

namespace sluice::http {
namespace {

/// Bytes of one write, about.
constexpr std::size_t kMostUnsent = 64 << 10;
/// Frames that wait to be sent, beyond those of replies.
constexpr std::size_t kMostQueued = 256;
/// Bytes of a decoded head: beyond the first limit the request is refused, beyond the second the
/// connection ends.
constexpr std::size_t kMostHeadBytes = 16 << 10;
constexpr std::size_t kHopelessHeadBytes = 4 * kMostHeadBytes;
/// A head as HTTP/2 has it: names in lower case.
class Head {
 public:
  void add(std::string_view name, std::string_view value) {
    auto& [low, kept] = fields_.emplace_back(name, value);
    std::ranges::transform(low, low.begin(), [](char letter) {
      return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
  }
  /// Lives as long as this, unchanged.
  std::vector<nghttp2_nv> list() const {
    std::vector<nghttp2_nv> list;
    http2::add_fields(fields_, list);
    return list;
  }

 private:
  http2::Fields fields_;
};

}  // namespace

Http2Session::Http2Session(const ServerOptions& options, const std::shared_ptr<ByteBudget>& bodies,
                           terms::Peer peer, Hooks hooks, std::int64_t now_ns)
    : ServerSession({kMaxStreams, kMostHeadBytes, kMostUnsent, kMostQueued}),
      options_(options),
      bodies_(std::make_shared<ByteBudget>(
          std::max(options.all_body_bytes / 4, 2 * options.max_body_bytes), bodies)),
      peer_(std::move(peer)),
      hooks_(std::move(hooks)),
      rules_({}, now_ns),
      now_ns_(now_ns),
      idle_since_ns_(now_ns) {}

Result<std::unique_ptr<Http2Session>> Http2Session::create(
    const ServerOptions& options, const std::shared_ptr<ByteBudget>& bodies, terms::Peer peer,
    Hooks hooks, std::int64_t now_ns) {
  std::unique_ptr<Http2Session> session(
      new Http2Session(options, bodies, std::move(peer), std::move(hooks), now_ns));
  SLUICE_TRY(session->open());
  return session;
}

Status Http2Session::take(std::string_view bytes, std::int64_t now_ns) {
  now_ns_ = now_ns;
  const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
  if (Status status = rules_.take(all, now_ns); !status.is_ok()) {
    return break_off(NGHTTP2_ENHANCE_YOUR_CALM, std::move(status));
  }
  return ServerSession::take(bytes);
}

/// Tells the client so.
Status Http2Session::break_off(std::uint32_t code, Status why) {
  nghttp2_session_terminate_session(nghttp2(), code);
  return why;
}

std::string_view Http2Session::send(std::int64_t now_ns) {
  now_ns_ = now_ns;
  return ServerSession::send();
}

void Http2Session::answer(StreamId id, Reply reply, std::int64_t now_ns) {
  now_ns_ = now_ns;
  Http2Stream* stream = find(id);
  if (stream == nullptr) {
    --num_lost_;
  } else {
    stream->is_computing = false;
    begin_reply(id, *stream, std::move(reply));
  }
}

void Http2Session::resume(StreamId id, std::int64_t now_ns) {
  now_ns_ = now_ns;
  Http2Stream* stream = find(id);
  if (stream == nullptr || !stream->is_deferred) return;
  stream->is_deferred = false;
  stream->moved_ns = now_ns;
  nghttp2_session_resume_data(nghttp2(), id);
}

void Http2Session::cancel() {
  for (auto& [id, stream] : streams_) {
    if (stream.cancel) std::exchange(stream.cancel, nullptr)();
  }
}

Status Http2Session::check_time(std::int64_t now_ns) {
  now_ns_ = now_ns;
  if (Status status = rules_.check_time(now_ns); !status.is_ok()) {
    return break_off(NGHTTP2_ENHANCE_YOUR_CALM, std::move(status));
  }
  if (streams_.empty() && now_ns - idle_since_ns_ > options_.head_ns) finish();
  for (auto& [id, stream] : streams_) {
    if (now_ns > stream.late_ns(options_.idle_ns)) reset(id, NGHTTP2_CANCEL);
  }
  return ok_status();
}

Http2Stream* Http2Session::find(StreamId id) {
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : &it->second;
}

/// nghttp2 bounds open streams. Those that were reset count here until they are answered: a client
/// must not have more computed than it may ask for.
void Http2Session::begin(StreamId id) {
  if (streams_.size() + num_lost_ >= kMaxStreams) {
    nghttp2_submit_rst_stream(nghttp2(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  } else {
    streams_.try_emplace(id, peer_);
  }
}

bool Http2Session::take_field(StreamId id, bool /*is_trailer*/, std::string_view name,
                              std::string_view value) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return true;
  stream->head_bytes += name.size() + value.size() + http2::kFieldBytes;
  if (stream->head_bytes > kHopelessHeadBytes) return false;
  if (stream->refusal || stream->arrival.has_body()) return true;  // or it is a trailer
  stream->refusal = stream->head_bytes > kMostHeadBytes ? Refusal{431, "the head is too large"}
                                                        : stream->take_field(name, value);
  return true;
}

void Http2Session::end_head(StreamId id, bool is_all) {
  Http2Stream* const found = find(id);
  if (found == nullptr) return;
  Http2Stream& stream = *found;
  if (stream.refusal) return refuse(id, stream, *stream.refusal);
  Request& request = stream.arrival.request();
  if (request.path.empty()) request.path = "/";
  if (std::cmp_greater(stream.announced_bytes, options_.max_body_bytes)) {
    return refuse(id, stream,
                  {413, fmt::format("the body has more than {} bytes", options_.max_body_bytes)});
  }
  stream.moved_ns = now_ns_;
  stream.arrival.begin_body(bodies_, stream.announced_bytes, options_.max_body_bytes, now_ns_);
  if (is_all || !stream.arrival.waits_for_word()) return;
  Head head;
  head.add(":status", "100");
  const auto list = head.list();
  nghttp2_submit_headers(nghttp2(), NGHTTP2_FLAG_NONE, id, nullptr, list.data(), list.size(),
                         nullptr);
}

void Http2Session::take_data(StreamId id, std::string_view bytes) {
  Http2Stream* stream = find(id);
  if (stream == nullptr || stream->is_replying) return;
  stream->moved_ns = now_ns_;
  if (const Status status = stream->arrival.add(bytes); !status.is_ok()) {
    refuse(id, *stream, body_refusal(status));
  }
}

void Http2Session::end_request(StreamId id) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->is_complete = true;
  if (stream->is_replying) return;
  stream->is_computing = true;
  stream->cancel = hooks_.compute(id, stream->arrival.take());
}

ssize_t Http2Session::read(StreamId id, std::span<std::uint8_t> to, std::uint32_t& flags) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const std::size_t num = stream->read(to);
  stream->moved_ns = now_ns_;
  if (stream->is_read()) {
    flags |= NGHTTP2_DATA_FLAG_EOF;
  } else if (num == 0) {
    stream->is_deferred = true;
    stream->reply.stream->wait([wake = hooks_.wake, id] { wake(id); });
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(num);
}

void Http2Session::note_sent(StreamId id) {
  const Http2Stream* stream = find(id);
  if (stream != nullptr && !stream->is_complete) reset(id, NGHTTP2_NO_ERROR);
}

void Http2Session::refuse(StreamId id, Http2Stream& stream, const Refusal& refusal) {
  begin_reply(id, stream, error_reply(refusal.status, refusal.message));
}

void Http2Session::begin_reply(StreamId id, Http2Stream& stream, Reply reply) {
  encode_body(reply);  // a large one is coded already
  stream.moved_ns = now_ns_;
  stream.begin_reply(std::move(reply));
  Head head;
  head.add(":status", std::to_string(stream.reply.status));
  visit_fields(stream.reply,
               [&head](std::string_view name, std::string_view value) { head.add(name, value); });
  const auto list = head.list();
  nghttp2_data_provider provider = body();
  const bool has_body = !stream.is_read();
  const int fault = nghttp2_submit_response(nghttp2(), id, list.data(), list.size(),
                                            has_body ? &provider : nullptr);
  if (fault != 0) reset(id, NGHTTP2_INTERNAL_ERROR);
}

void Http2Session::reset(StreamId id, std::uint32_t code) {
  Http2Stream* stream = find(id);
  if (stream == nullptr || std::exchange(stream->is_reset, true)) return;
  nghttp2_submit_rst_stream(nghttp2(), NGHTTP2_FLAG_NONE, id, code);
}

void Http2Session::close(StreamId id) {
  const auto it = streams_.find(id);
  if (it == streams_.end()) return;
  const Cancel cancel = std::move(it->second.cancel);
  if (it->second.is_computing) ++num_lost_;
  streams_.erase(it);
  idle_since_ns_ = now_ns_;
  if (cancel) cancel();
}

}  // namespace sluice::http
