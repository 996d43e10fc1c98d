#include "rpc/server/session/session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

namespace sluice::rpc::server {
namespace {

constexpr std::int32_t kStreamWindow = 1 << 20;
constexpr std::int32_t kConnectionWindow = 4 << 20;
/// Bytes of one write, about.
constexpr std::size_t kMostUnsent = 128 << 10;
/// A connection that waits holds no more.
constexpr std::size_t kKeptBytes = 4 << 10;
/// Frames that wait to be sent, beyond those of answers.
constexpr std::size_t kMostQueued = 4096;
constexpr std::uint8_t kStatic = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;

std::uint8_t* bytes_of(std::string_view text) {  // nghttp2 does not write there
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

nghttp2_nv field(std::string_view name, std::string_view value, std::uint8_t flags) {
  return {bytes_of(name), bytes_of(value), name.size(), value.size(), flags};
}

/// The head of every answer; `call`'s fields live as long as the list.
std::vector<nghttp2_nv> head_of(const Call& call) {
  std::vector<nghttp2_nv> list = {
      field(":status", "200", kStatic), field("content-type", "application/grpc", kStatic),
      field("grpc-accept-encoding", "identity, deflate, gzip", kStatic)};
  for (const auto& [name, value] : call.initial()) {
    list.push_back(field(name, value, NGHTTP2_NV_FLAG_NONE));
  }
  return list;
}

bool ends_stream(const nghttp2_frame_hd& head) {
  const bool may_end = head.type == NGHTTP2_HEADERS || head.type == NGHTTP2_DATA;
  return may_end && (head.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

}  // namespace

/// Exceptions do not cross nghttp2: they end the connection.
struct Session::Callbacks {
  template <typename Work>
  static int guarded(void* session, const Work& work) {
    try {
      return work(*static_cast<Session*>(session));
    } catch (const std::exception&) {  // such as no memory
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    return guarded(data, [frame](Session& self) {
      self.begin(frame->hd.stream_id);
      return 0;
    });
  }

  static int header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                    const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                    std::size_t value_size, std::uint8_t /*flags*/, void* data) {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;  // a client's trailer says nothing
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string_view text(reinterpret_cast<const char*>(value), value_size);
    return guarded(data, [&](Session& self) -> int {
      Stream* stream = self.find(frame->hd.stream_id);
      const bool goes_on = stream == nullptr || stream->call->take_field(key, text);
      return goes_on ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
    });
  }

  static int data_chunk(nghttp2_session* /*session*/, std::uint8_t /*flags*/, StreamId id,
                        const std::uint8_t* bytes, std::size_t size, void* data) {
    return guarded(data, [&](Session& self) {
      nghttp2_session_consume_connection(self.session_.get(), size);
      Stream* stream = self.find(id);
      if (stream == nullptr) return 0;
      const auto call = stream->call;  // it may close its stream
      call->take({reinterpret_cast<const char*>(bytes), size});
      return 0;
    });
  }

  static int frame_came(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    return guarded(data, [frame](Session& self) {
      const nghttp2_frame_hd& head = frame->hd;
      if (head.type == NGHTTP2_PING && (head.flags & NGHTTP2_FLAG_ACK) != 0 && self.is_leaving_) {
        self.finish();
      }
      const bool is_data = head.type == NGHTTP2_DATA || head.type == NGHTTP2_HEADERS;
      Stream* stream = is_data ? self.find(head.stream_id) : nullptr;
      if (stream == nullptr) return 0;
      const auto call = stream->call;
      const bool is_head = head.type == NGHTTP2_HEADERS;
      if (is_head && frame->headers.cat == NGHTTP2_HCAT_REQUEST) call->end_head();
      if (ends_stream(head)) call->end_request();
      return 0;
    });
  }

  /// A status ends the stream, although the client may still send (RFC 9113, section 8.1).
  static int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* data) {
    return guarded(data, [session, frame](Session& self) {
      if (!ends_stream(frame->hd)) return 0;
      const StreamId id = frame->hd.stream_id;
      Stream* stream = self.find(id);
      if (stream == nullptr) return 0;
      stream->call->note_sent();
      if (!stream->call->has_all()) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
      }
      return 0;
    });
  }

  static int stream_closed(nghttp2_session* /*session*/, StreamId id, std::uint32_t /*code*/,
                           void* data) {
    return guarded(data, [id](Session& self) {
      self.close(id);
      return 0;
    });
  }

  /// The bytes are copied by `send_data`, once.
  static ssize_t read_answer(nghttp2_session* /*session*/, StreamId id, std::uint8_t* /*to*/,
                             std::size_t size, std::uint32_t* flags, nghttp2_data_source* /*from*/,
                             void* data) {
    ssize_t num = 0;
    const int fault = guarded(data, [&](Session& self) -> int {
      Stream* stream = self.find(id);
      if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
      const std::size_t num_unsent = stream->call->num_unsent(size + 1);
      const bool is_last = num_unsent <= size && stream->call->is_answered();
      if (num_unsent == 0 && !is_last) {
        stream->is_deferred = true;
        return NGHTTP2_ERR_DEFERRED;
      }
      num = static_cast<ssize_t>(std::min(num_unsent, size));
      *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
      if (is_last) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        self.submit_trailer(*stream->call);
      }
      return 0;
    });
    return fault != 0 ? fault : num;
  }

  static int send_data(nghttp2_session* /*session*/, nghttp2_frame* frame, const std::uint8_t* head,
                       std::size_t size, nghttp2_data_source* /*from*/, void* data) {
    return guarded(data, [&](Session& self) -> int {
      if (self.unsent_.size() >= kMostUnsent) return NGHTTP2_ERR_WOULDBLOCK;
      Stream* stream = self.find(frame->hd.stream_id);
      // The call may have been cancelled since `read_answer`.
      const bool has_bytes = stream != nullptr && stream->call->num_unsent(size) == size;
      if (!has_bytes) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
      self.unsent_.append(reinterpret_cast<const char*>(head), 9);
      stream->call->send(size, self.unsent_);
      return 0;
    });
  }
};

void Session::Free::operator()(nghttp2_session* session) const { nghttp2_session_del(session); }

Session::Session(const CallSettings& settings, CallQueue& queue,
                 std::shared_ptr<const terms::Peer> peer, std::uint64_t connection)
    : settings_(settings), queue_(queue), peer_(std::move(peer)), connection_(connection) {}

Session::~Session() {
  const auto streams = std::exchange(streams_, {});
  for (const auto& [id, stream] : streams) stream.call->close();
}

Result<std::unique_ptr<Session>> Session::create(const CallSettings& settings, CallQueue& queue,
                                                 std::shared_ptr<const terms::Peer> peer,
                                                 std::uint64_t connection) {
  std::unique_ptr<Session> session(new Session(settings, queue, std::move(peer), connection));
  if (session->open()) return session;
  return make_error(Code::kResourceExhausted, "HTTP/2: no memory");
}

/// False without memory.
bool Session::open() {
  nghttp2_session_callbacks* made_calls = nullptr;
  if (nghttp2_session_callbacks_new(&made_calls) != 0) return false;
  const std::unique_ptr<nghttp2_session_callbacks, decltype(&nghttp2_session_callbacks_del)> calls(
      made_calls, nghttp2_session_callbacks_del);
  nghttp2_session_callbacks_set_on_begin_headers_callback(made_calls, Callbacks::begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(made_calls, Callbacks::header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made_calls, Callbacks::data_chunk);
  nghttp2_session_callbacks_set_on_frame_recv_callback(made_calls, Callbacks::frame_came);
  nghttp2_session_callbacks_set_on_frame_send_callback(made_calls, Callbacks::frame_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(made_calls, Callbacks::stream_closed);
  nghttp2_session_callbacks_set_send_data_callback(made_calls, Callbacks::send_data);
  nghttp2_option* made_options = nullptr;
  if (nghttp2_option_new(&made_options) != 0) return false;
  const std::unique_ptr<nghttp2_option, decltype(&nghttp2_option_del)> options(made_options,
                                                                               nghttp2_option_del);
  nghttp2_option_set_no_closed_streams(made_options, 1);  // it would keep them for priorities
  nghttp2_option_set_no_auto_window_update(made_options, 1);
  // FrameRules limits the rate of resets.
  constexpr std::uint64_t kNoLimit = 1'000'000'000;
  nghttp2_option_set_stream_reset_rate_limit(made_options, kNoLimit, kNoLimit);
  nghttp2_session* made = nullptr;
  if (nghttp2_session_server_new2(&made, made_calls, this, made_options) != 0) return false;
  session_.reset(made);
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxCalls},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, Call::kMostHeadBytes},
  }};
  return nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0 &&
         nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) == 0;
}

Status Session::take(std::string_view bytes) {
  const ssize_t num = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (num >= 0) return ok_status();
  is_broken_ = true;
  return invalid_argument("not HTTP/2: {}", nghttp2_strerror(static_cast<int>(num)));
}

std::string_view Session::send() {
  is_touched_ = false;
  unsent_.clear();
  while (!is_broken_ && unsent_.size() < kMostUnsent) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t num = nghttp2_session_mem_send(session_.get(), &bytes);
    if (num < 0) is_broken_ = true;
    if (num <= 0) break;
    unsent_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(num));
  }
  if (unsent_.empty() && unsent_.capacity() > kKeptBytes) unsent_ = {};
  return unsent_;
}

void Session::say_goodbye() {
  if (std::exchange(is_leaving_, true)) return;
  nghttp2_submit_shutdown_notice(session_.get());
  ping();  // the client has read the notice once it answers this
}

void Session::finish() {
  if (std::exchange(is_finishing_, true)) return;
  const StreamId last = nghttp2_session_get_last_proc_stream_id(session_.get());
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
  touch();
}

void Session::ping() {
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  touch();
}

bool Session::is_over() const {
  return is_broken_ || (nghttp2_session_want_read(session_.get()) == 0 &&
                        nghttp2_session_want_write(session_.get()) == 0);
}

bool Session::is_full() const {
  return nghttp2_session_get_outbound_queue_size(session_.get()) > kMostQueued;
}

Session::Stream* Session::find(StreamId id) {
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : &it->second;
}

/// nghttp2 bounds open streams. Those that were reset count here until their calls are done: a
/// client must not have more computed than it may ask for.
void Session::begin(StreamId id) {
  if (streams_.size() + *num_lost_ >= kMaxCalls) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  } else {
    streams_[id].call = std::make_shared<Call>(*this, id, settings_, queue_);
  }
}

void Session::close(StreamId id) {
  const auto it = streams_.find(id);
  if (it == streams_.end()) return;
  const auto call = std::move(it->second.call);
  streams_.erase(it);
  call->close();
  if (call->is_lost()) call->count_as_lost(num_lost_);
}

void Session::let_replace(StreamId id, std::size_t num_bytes) {
  nghttp2_session_consume_stream(session_.get(), id, num_bytes);
  touch();
}

void Session::send_messages(const Call& call) {
  Stream* stream = find(call.id());
  if (stream == nullptr) return;
  if (!stream->has_head) return send_head(*stream);
  if (!std::exchange(stream->is_deferred, false)) return;
  nghttp2_session_resume_data(session_.get(), call.id());
  touch();
}

void Session::send_status(const Call& call) {
  Stream* stream = find(call.id());
  if (stream == nullptr) return;
  if (stream->has_head || call.num_unsent(1) > 0) return send_messages(call);
  stream->has_head = true;
  std::vector<nghttp2_nv> list = head_of(call);
  const std::vector<Call::Field> trailer = call.trailer();
  for (const auto& [name, value] : trailer) {
    list.push_back(field(name, value, NGHTTP2_NV_FLAG_NONE));
  }
  nghttp2_submit_response(session_.get(), call.id(), list.data(), list.size(), nullptr);
  touch();
}

void Session::refuse_http(Call& call, std::string_view status) {
  const nghttp2_nv head = field(":status", status, NGHTTP2_NV_FLAG_NONE);
  nghttp2_submit_response(session_.get(), call.id(), &head, 1, nullptr);
  touch();
}

void Session::reset(StreamId id) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  touch();
}

void Session::send_head(Stream& stream) {
  stream.has_head = true;
  const std::vector<nghttp2_nv> list = head_of(*stream.call);
  nghttp2_data_provider body = {};
  body.read_callback = Callbacks::read_answer;
  nghttp2_submit_response(session_.get(), stream.call->id(), list.data(), list.size(), &body);
  touch();
}

void Session::submit_trailer(const Call& call) {
  const std::vector<Call::Field> trailer = call.trailer();
  std::vector<nghttp2_nv> list;
  for (const auto& [name, value] : trailer) {
    list.push_back(field(name, value, NGHTTP2_NV_FLAG_NONE));
  }
  nghttp2_submit_trailer(session_.get(), call.id(), list.data(), list.size());
}

void Session::touch() {
  if (!std::exchange(is_touched_, true)) queue_.touch(connection_);
}

}  // namespace sluice::rpc::server
