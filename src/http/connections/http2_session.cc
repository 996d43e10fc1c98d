#include "http/connections/http2_session.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "http/connections/reply_fields.h"

namespace sluice::http {
namespace {

constexpr std::int32_t kStreamWindow = 1 << 20;
constexpr std::int32_t kConnectionWindow = 4 << 20;
/// Bytes of one write, about.
constexpr std::size_t kMostUnsent = 64 << 10;
/// Frames that wait to be sent, beyond those of replies.
constexpr std::size_t kMostQueued = 256;
/// Bytes of a decoded head: beyond the first limit the request is refused, beyond the second the
/// connection ends.
constexpr std::size_t kMostHeadBytes = 16 << 10;
constexpr std::size_t kHopelessHeadBytes = 4 * kMostHeadBytes;
/// What a field counts besides its bytes (RFC 9113, section 6.5.2).
constexpr std::size_t kFieldBytes = 32;

std::uint8_t* bytes_of(const std::string& text) {  // nghttp2 does not write there
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

bool ends_stream(const nghttp2_frame_hd& head) {
  const bool may_end = head.type == NGHTTP2_HEADERS || head.type == NGHTTP2_DATA;
  return may_end && (head.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

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
    for (const auto& [name, value] : fields_) {
      list.push_back(
          {bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    return list;
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace

/// Exceptions do not cross nghttp2: they end the connection.
struct Http2Session::Calls {
  template <typename Work>
  static int guarded(void* session, const Work& work) {
    try {
      return work(*static_cast<Http2Session*>(session));
    } catch (const std::exception&) {  // such as no memory
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    return guarded(data, [frame](Http2Session& self) {
      self.begin(frame->hd.stream_id);
      return 0;
    });
  }

  static int header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                    const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                    std::size_t value_size, std::uint8_t /*flags*/, void* data) {
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string_view text(reinterpret_cast<const char*>(value), value_size);
    return guarded(data, [&](Http2Session& self) -> int {
      const bool goes_on = self.take_field(frame->hd.stream_id, key, text);
      return goes_on ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
    });
  }

  static int data_chunk(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t id,
                        const std::uint8_t* bytes, std::size_t size, void* data) {
    return guarded(data, [&](Http2Session& self) {
      self.take_data(id, {reinterpret_cast<const char*>(bytes), size});
      return 0;
    });
  }

  static int frame_came(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    return guarded(data, [frame](Http2Session& self) {
      const nghttp2_frame_hd& head = frame->hd;
      if (head.type == NGHTTP2_PING && (head.flags & NGHTTP2_FLAG_ACK) != 0 && self.is_leaving_) {
        self.finish();
      }
      Http2Stream* stream = self.find(head.stream_id);
      if (stream == nullptr) return 0;
      const bool is_all = ends_stream(head);
      if (head.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        self.end_head(head.stream_id, *stream, is_all);
      }
      if (is_all) self.end_request(head.stream_id, *stream);
      return 0;
    });
  }

  /// A reply ends the stream, although the client may still send the body of what was refused (RFC
  /// 9113, section 8.1).
  static int frame_sent(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    return guarded(data, [frame](Http2Session& self) {
      if (!ends_stream(frame->hd)) return 0;
      const StreamId id = frame->hd.stream_id;
      const Http2Stream* stream = self.find(id);
      if (stream != nullptr && !stream->is_complete) self.reset(id, NGHTTP2_NO_ERROR);
      return 0;
    });
  }

  static int stream_closed(nghttp2_session* /*session*/, std::int32_t id, std::uint32_t /*code*/,
                           void* data) {
    return guarded(data, [id](Http2Session& self) {
      self.close(id);
      return 0;
    });
  }

  static ssize_t read_reply(nghttp2_session* /*session*/, std::int32_t id, std::uint8_t* to,
                            std::size_t size, std::uint32_t* flags, nghttp2_data_source* /*from*/,
                            void* data) {
    ssize_t num = 0;
    const int fault = guarded(data, [&](Http2Session& self) -> int {
      Http2Stream* stream = self.find(id);
      if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
      num = static_cast<ssize_t>(stream->read({to, size}));
      stream->moved_ns = self.now_ns_;
      if (stream->is_read()) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
      } else if (num == 0) {
        stream->is_deferred = true;
        stream->reply.stream->wait([wake = self.hooks_.wake, id] { wake(id); });
        return NGHTTP2_ERR_DEFERRED;
      }
      return 0;
    });
    return fault != 0 ? fault : num;
  }
};

void Http2Session::Free::operator()(nghttp2_session* session) const {
  nghttp2_session_del(session);
}

Http2Session::Http2Session(const ServerOptions& options, const std::shared_ptr<ByteBudget>& bodies,
                           terms::Peer peer, Hooks hooks, std::int64_t now_ns)
    : options_(options),
      bodies_(std::make_shared<ByteBudget>(
          std::max(options.all_body_bytes / 4, 2 * options.max_body_bytes), bodies)),
      peer_(std::move(peer)),
      hooks_(std::move(hooks)),
      rules_({}, now_ns),
      now_ns_(now_ns),
      idle_since_ns_(now_ns) {}

Http2Session::~Http2Session() = default;

Result<std::unique_ptr<Http2Session>> Http2Session::create(
    const ServerOptions& options, const std::shared_ptr<ByteBudget>& bodies, terms::Peer peer,
    Hooks hooks, std::int64_t now_ns) {
  std::unique_ptr<Http2Session> session(
      new Http2Session(options, bodies, std::move(peer), std::move(hooks), now_ns));
  if (session->open()) return session;
  return make_error(Code::kResourceExhausted, "HTTP/2: no memory");
}

/// False without memory.
bool Http2Session::open() {
  nghttp2_session_callbacks* made_calls = nullptr;
  if (nghttp2_session_callbacks_new(&made_calls) != 0) return false;
  const std::unique_ptr<nghttp2_session_callbacks, decltype(&nghttp2_session_callbacks_del)> calls(
      made_calls, nghttp2_session_callbacks_del);
  nghttp2_session_callbacks_set_on_begin_headers_callback(made_calls, Calls::begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(made_calls, Calls::header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made_calls, Calls::data_chunk);
  nghttp2_session_callbacks_set_on_frame_recv_callback(made_calls, Calls::frame_came);
  nghttp2_session_callbacks_set_on_frame_send_callback(made_calls, Calls::frame_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(made_calls, Calls::stream_closed);
  nghttp2_option* made_options = nullptr;
  if (nghttp2_option_new(&made_options) != 0) return false;
  const std::unique_ptr<nghttp2_option, decltype(&nghttp2_option_del)> options(made_options,
                                                                               nghttp2_option_del);
  nghttp2_option_set_no_closed_streams(made_options, 1);  // it would keep them for priorities
  const Rate resets = http2::FrameLimits{}.resets;  // nghttp2 has a rate of its own, a lower one
  nghttp2_option_set_stream_reset_rate_limit(made_options, static_cast<std::uint64_t>(resets.burst),
                                             static_cast<std::uint64_t>(resets.per_second));
  nghttp2_session* made = nullptr;
  if (nghttp2_session_server_new2(&made, made_calls, this, made_options) != 0) return false;
  session_.reset(made);
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostHeadBytes},
  }};
  return nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0 &&
         nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) == 0;
}

Status Http2Session::take(std::string_view bytes, std::int64_t now_ns) {
  now_ns_ = now_ns;
  const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
  if (Status status = rules_.take(all, now_ns); !status.is_ok()) {
    return break_off(NGHTTP2_ENHANCE_YOUR_CALM, std::move(status));
  }
  const ssize_t num = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (num >= 0) return ok_status();
  is_broken_ = true;
  return invalid_argument("not HTTP/2: {}", nghttp2_strerror(static_cast<int>(num)));
}

/// Tells the client so.
Status Http2Session::break_off(std::uint32_t code, Status why) {
  nghttp2_session_terminate_session(session_.get(), code);
  return why;
}

std::string_view Http2Session::send(std::int64_t now_ns) {
  now_ns_ = now_ns;
  unsent_.clear();
  while (!is_broken_ && unsent_.size() < kMostUnsent) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t num = nghttp2_session_mem_send(session_.get(), &bytes);
    if (num < 0) is_broken_ = true;
    if (num <= 0) break;
    unsent_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(num));
  }
  return unsent_;
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
  nghttp2_session_resume_data(session_.get(), id);
}

void Http2Session::say_goodbye() {
  if (std::exchange(is_leaving_, true)) return;
  nghttp2_submit_shutdown_notice(session_.get());
  // The client has read the notice once it answers this.
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
}

void Http2Session::finish() {
  if (std::exchange(is_finishing_, true)) return;
  const std::int32_t last = nghttp2_session_get_last_proc_stream_id(session_.get());
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
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

bool Http2Session::is_over() const {
  return is_broken_ || (nghttp2_session_want_read(session_.get()) == 0 &&
                        nghttp2_session_want_write(session_.get()) == 0);
}

bool Http2Session::is_full() const {
  return nghttp2_session_get_outbound_queue_size(session_.get()) > kMostQueued;
}

Http2Stream* Http2Session::find(StreamId id) {
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : &it->second;
}

/// nghttp2 bounds open streams. Those that were reset count here until they are answered: a client
/// must not have more computed than it may ask for.
void Http2Session::begin(StreamId id) {
  if (streams_.size() + num_lost_ >= kMaxStreams) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  } else {
    streams_.try_emplace(id, peer_);
  }
}

bool Http2Session::take_field(StreamId id, std::string_view name, std::string_view value) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return true;
  stream->head_bytes += name.size() + value.size() + kFieldBytes;
  if (stream->head_bytes > kHopelessHeadBytes) return false;
  if (stream->refusal || stream->arrival.has_body()) return true;  // or it is a trailer
  stream->refusal = stream->head_bytes > kMostHeadBytes ? Refusal{431, "the head is too large"}
                                                        : stream->take_field(name, value);
  return true;
}

void Http2Session::end_head(StreamId id, Http2Stream& stream, bool is_all) {
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
  nghttp2_submit_headers(session_.get(), NGHTTP2_FLAG_NONE, id, nullptr, list.data(), list.size(),
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

void Http2Session::end_request(StreamId id, Http2Stream& stream) {
  stream.is_complete = true;
  if (stream.is_replying) return;
  stream.is_computing = true;
  stream.cancel = hooks_.compute(id, stream.arrival.take());
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
  nghttp2_data_provider body = {};
  body.read_callback = Calls::read_reply;
  const bool has_body = !stream.is_read();
  const int fault = nghttp2_submit_response(session_.get(), id, list.data(), list.size(),
                                            has_body ? &body : nullptr);
  if (fault != 0) reset(id, NGHTTP2_INTERNAL_ERROR);
}

void Http2Session::reset(StreamId id, std::uint32_t code) {
  Http2Stream* stream = find(id);
  if (stream == nullptr || std::exchange(stream->is_reset, true)) return;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, code);
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
