#include "rpc/server/session/session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice::rpc::server {
namespace {

using http2::field;

/// Bytes of one write, about.
constexpr std::size_t kMostUnsent = 128 << 10;
/// Frames that wait to be sent, beyond those of answers.
constexpr std::size_t kMostQueued = 4096;
constexpr std::uint8_t kStatic = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;

/// The head of every answer; `call`'s fields live as long as the list.
std::vector<nghttp2_nv> head_of(const Call& call) {
  std::vector<nghttp2_nv> list = {
      field(":status", "200", kStatic), field("content-type", "application/grpc", kStatic),
      field("grpc-accept-encoding", "identity, deflate, gzip", kStatic)};
  http2::add_fields(call.initial(), list);
  return list;
}

}  // namespace

Session::Session(const CallSettings& settings, CallQueue& queue,
                 std::shared_ptr<const terms::Peer> peer, std::uint64_t connection)
    : ServerSession({kMaxCalls, Call::kMostHeadBytes, kMostUnsent, kMostQueued, false}),
      settings_(settings),
      queue_(queue),
      peer_(std::move(peer)),
      connection_(connection) {}

Session::~Session() {
  const auto streams = std::exchange(streams_, {});
  for (const auto& [id, stream] : streams) stream.call->close();
}

Result<std::unique_ptr<Session>> Session::create(const CallSettings& settings, CallQueue& queue,
                                                 std::shared_ptr<const terms::Peer> peer,
                                                 std::uint64_t connection) {
  std::unique_ptr<Session> session(new Session(settings, queue, std::move(peer), connection));
  SLUICE_TRY(session->open());
  return session;
}

std::string_view Session::send() {
  is_touched_ = false;
  return ServerSession::send();
}

Session::Stream* Session::find(StreamId id) {
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : &it->second;
}

std::shared_ptr<Call> Session::call_of(StreamId id) {
  const Stream* stream = find(id);
  return stream == nullptr ? nullptr : stream->call;
}

/// nghttp2 bounds open streams. Those that were reset count here until their calls are done: a
/// client must not have more computed than it may ask for.
void Session::begin(StreamId id) {
  if (streams_.size() + *num_lost_ >= kMaxCalls) {
    nghttp2_submit_rst_stream(nghttp2(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  } else {
    streams_[id].call = std::make_shared<Call>(*this, id, settings_, queue_);
  }
}

/// A client's trailer says nothing.
bool Session::take_field(StreamId id, bool is_trailer, std::string_view name,
                         std::string_view value) {
  const Stream* stream = is_trailer ? nullptr : find(id);
  return stream == nullptr || stream->call->take_field(name, value);
}

void Session::end_head(StreamId id, bool /*is_all*/) {
  if (const auto call = call_of(id)) call->end_head();
}

void Session::take_data(StreamId id, std::string_view bytes) {
  nghttp2_session_consume_connection(nghttp2(), bytes.size());
  if (const auto call = call_of(id)) call->take(bytes);
}

void Session::end_request(StreamId id) {
  if (const auto call = call_of(id)) call->end_request();
}

/// The bytes are copied by `send_data`, once.
ssize_t Session::read(StreamId id, std::span<std::uint8_t> to, std::uint32_t& flags) {
  Stream* stream = find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const std::size_t num_unsent = stream->call->num_unsent(to.size() + 1);
  const bool is_last = num_unsent <= to.size() && stream->call->is_answered();
  if (num_unsent == 0 && !is_last) {
    stream->is_deferred = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (is_last) {
    flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    submit_trailer(*stream->call);
  }
  return static_cast<ssize_t>(std::min(num_unsent, to.size()));
}

int Session::send_data(StreamId id, std::string_view head, std::size_t size) {
  if (unsent().size() >= kMostUnsent) return NGHTTP2_ERR_WOULDBLOCK;
  const auto call = call_of(id);
  // The call may have been cancelled since `read`.
  const bool has_bytes = call != nullptr && call->num_unsent(size) == size;
  if (!has_bytes) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  unsent() += head;
  call->send(size, unsent());
  return 0;
}

void Session::note_sent(StreamId id) {
  const auto call = call_of(id);
  if (call == nullptr) return;
  call->note_sent();
  if (call->has_all()) return;
  nghttp2_submit_rst_stream(nghttp2(), NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
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
  nghttp2_session_consume_stream(nghttp2(), id, num_bytes);
  touch();
}

void Session::send_messages(const Call& call) {
  Stream* stream = find(call.id());
  if (stream == nullptr) return;
  if (!stream->has_head) return send_head(*stream);
  if (!std::exchange(stream->is_deferred, false)) return;
  nghttp2_session_resume_data(nghttp2(), call.id());
  touch();
}

void Session::send_status(const Call& call) {
  Stream* stream = find(call.id());
  if (stream == nullptr) return;
  if (stream->has_head || call.num_unsent(1) > 0) return send_messages(call);
  stream->has_head = true;
  std::vector<nghttp2_nv> list = head_of(call);
  const http2::Fields trailer = call.trailer();
  http2::add_fields(trailer, list);
  nghttp2_submit_response(nghttp2(), call.id(), list.data(), list.size(), nullptr);
  touch();
}

void Session::refuse_http(Call& call, std::string_view status) {
  const nghttp2_nv head = field(":status", status);
  nghttp2_submit_response(nghttp2(), call.id(), &head, 1, nullptr);
  touch();
}

void Session::reset(StreamId id) {
  nghttp2_submit_rst_stream(nghttp2(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  touch();
}

void Session::send_head(Stream& stream) {
  stream.has_head = true;
  const std::vector<nghttp2_nv> list = head_of(*stream.call);
  nghttp2_data_provider provider = body();
  nghttp2_submit_response(nghttp2(), stream.call->id(), list.data(), list.size(), &provider);
  touch();
}

void Session::submit_trailer(const Call& call) {
  const http2::Fields trailer = call.trailer();
  std::vector<nghttp2_nv> list;
  http2::add_fields(trailer, list);
  nghttp2_submit_trailer(nghttp2(), call.id(), list.data(), list.size());
}

void Session::touch() {
  if (!std::exchange(is_touched_, true)) queue_.touch(connection_);
}

}  // namespace sluice::rpc::server
