#include "http2/server_session.h"

#include <array>
#include <exception>

#include "http2/frames.h"

namespace sluice::http2 {
namespace {

constexpr std::int32_t kStreamWindow = 1 << 20;
constexpr std::int32_t kConnectionWindow = 4 << 20;
/// A connection that waits holds no more.
constexpr std::size_t kKeptBytes = 4 << 10;

std::uint8_t* bytes_of(std::string_view text) {  // nghttp2 does not write there
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

bool ends_stream(const nghttp2_frame_hd& head) {
  const bool may_end = head.type == NGHTTP2_HEADERS || head.type == NGHTTP2_DATA;
  return may_end && (head.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

bool is_request(const nghttp2_frame& frame) {
  return frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
}

}  // namespace

/// Exceptions do not cross nghttp2: they end the connection.
struct ServerSession::Callbacks {
  template <typename Work>
  static int guarded(void* session, const Work& work) {
    try {
      return work(*static_cast<ServerSession*>(session));
    } catch (const std::exception&) {  // such as no memory
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    if (!is_request(*frame)) return 0;
    return guarded(data, [frame](ServerSession& self) {
      self.begin(frame->hd.stream_id);
      return 0;
    });
  }

  static int header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                    const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                    std::size_t value_size, std::uint8_t /*flags*/, void* data) {
    return guarded(data, [&](ServerSession& self) -> int {
      const bool goes_on = self.take_field(frame->hd.stream_id, !is_request(*frame),
                                           text_of(name, name_size), text_of(value, value_size));
      return goes_on ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
    });
  }

  static int data_chunk(nghttp2_session* /*session*/, std::uint8_t /*flags*/, StreamId id,
                        const std::uint8_t* bytes, std::size_t size, void* data) {
    return guarded(data, [&](ServerSession& self) {
      self.take_data(id, text_of(bytes, size));
      return 0;
    });
  }

  static int frame_came(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    return guarded(data, [frame](ServerSession& self) {
      const nghttp2_frame_hd& head = frame->hd;
      if (head.type == NGHTTP2_PING && (head.flags & NGHTTP2_FLAG_ACK) != 0 && self.is_leaving_) {
        self.finish();
      }
      const bool is_all = ends_stream(head);
      if (is_request(*frame)) self.end_head(head.stream_id, is_all);
      if (is_all) self.end_request(head.stream_id);
      return 0;
    });
  }

  static int frame_sent(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* data) {
    if (!ends_stream(frame->hd)) return 0;
    return guarded(data, [frame](ServerSession& self) {
      self.note_sent(frame->hd.stream_id);
      return 0;
    });
  }

  static int stream_closed(nghttp2_session* /*session*/, StreamId id, std::uint32_t /*code*/,
                           void* data) {
    return guarded(data, [id](ServerSession& self) {
      self.close(id);
      return 0;
    });
  }

  static ssize_t read(nghttp2_session* /*session*/, StreamId id, std::uint8_t* to, std::size_t size,
                      std::uint32_t* flags, nghttp2_data_source* /*from*/, void* data) {
    ssize_t num = 0;
    const int fault = guarded(data, [&](ServerSession& self) {
      num = self.read(id, {to, size}, *flags);
      return 0;
    });
    return fault != 0 ? fault : num;
  }

  static int send_data(nghttp2_session* /*session*/, nghttp2_frame* frame, const std::uint8_t* head,
                       std::size_t size, nghttp2_data_source* /*from*/, void* data) {
    return guarded(data, [&](ServerSession& self) {
      return self.send_data(frame->hd.stream_id, text_of(head, kFrameHeadBytes), size);
    });
  }
};

nghttp2_nv field(std::string_view name, std::string_view value, std::uint8_t flags) {
  return {bytes_of(name), bytes_of(value), name.size(), value.size(), flags};
}

void add_fields(const Fields& fields, std::vector<nghttp2_nv>& list) {
  for (const auto& [name, value] : fields) list.push_back(field(name, value));
}

Status ServerSession::open() {
  const Status no_memory = make_error(Code::kResourceExhausted, "HTTP/2: no memory");
  nghttp2_session_callbacks* made_calls = nullptr;
  if (nghttp2_session_callbacks_new(&made_calls) != 0) return no_memory;
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
  if (nghttp2_option_new(&made_options) != 0) return no_memory;
  const std::unique_ptr<nghttp2_option, decltype(&nghttp2_option_del)> options(made_options,
                                                                               nghttp2_option_del);
  nghttp2_option_set_no_closed_streams(made_options, 1);  // it would keep them for priorities
  nghttp2_option_set_no_auto_window_update(made_options, limits_.replaces_all ? 0 : 1);
  constexpr std::uint64_t kNoLimit = 1'000'000'000;  // nghttp2 has a rate of its own, a lower one
  nghttp2_option_set_stream_reset_rate_limit(made_options, kNoLimit, kNoLimit);
  nghttp2_session* made = nullptr;
  if (nghttp2_session_server_new2(&made, made_calls, this, made_options) != 0) return no_memory;
  session_.reset(made);
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.max_head_bytes},
  }};
  const bool is_told =
      nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0 &&
      nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) == 0;
  return is_told ? ok_status() : no_memory;
}

Status ServerSession::take(std::string_view bytes) {
  const ssize_t num = nghttp2_session_mem_recv(nghttp2(), bytes_of(bytes), bytes.size());
  if (num >= 0) return ok_status();
  is_broken_ = true;
  return invalid_argument("not HTTP/2: {}", nghttp2_strerror(static_cast<int>(num)));
}

std::string_view ServerSession::send() {
  unsent_.clear();
  while (!is_broken_ && unsent_.size() < limits_.most_unsent) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t num = nghttp2_session_mem_send(nghttp2(), &bytes);
    if (num < 0) is_broken_ = true;
    if (num <= 0) break;
    unsent_.append(text_of(bytes, static_cast<std::size_t>(num)));
  }
  if (unsent_.empty() && unsent_.capacity() > kKeptBytes) unsent_ = {};
  return unsent_;
}

nghttp2_data_provider ServerSession::body() {
  nghttp2_data_provider body = {};
  body.read_callback = Callbacks::read;
  return body;
}

int ServerSession::send_data(StreamId /*id*/, std::string_view /*head*/, std::size_t /*size*/) {
  return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

void ServerSession::say_goodbye() {
  if (std::exchange(is_leaving_, true)) return;
  nghttp2_submit_shutdown_notice(nghttp2());
  ping();  // the client has read the notice once it answers this
}

void ServerSession::finish() {
  if (std::exchange(is_finishing_, true)) return;
  const StreamId last = nghttp2_session_get_last_proc_stream_id(nghttp2());
  nghttp2_submit_goaway(nghttp2(), NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
  touch();
}

void ServerSession::ping() {
  nghttp2_submit_ping(nghttp2(), NGHTTP2_FLAG_NONE, nullptr);
  touch();
}

bool ServerSession::is_over() const {
  return is_broken_ ||
         (nghttp2_session_want_read(nghttp2()) == 0 && nghttp2_session_want_write(nghttp2()) == 0);
}

bool ServerSession::is_full() const {
  return nghttp2_session_get_outbound_queue_size(nghttp2()) > limits_.most_queued;
}

}  // namespace sluice::http2
