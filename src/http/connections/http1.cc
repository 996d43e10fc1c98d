#include "http/connections/http1.h"

#include <boost/beast/http/read.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "http/connections/reply_fields.h"

namespace sluice::http {
namespace {

namespace wire = beast::http;
using std::chrono::nanoseconds;

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

constexpr std::size_t kMaxParts = 16;         // of a reply, that go in one call
constexpr std::size_t kUsualHeadBytes = 256;  // of a reply

/// Keeps a reply that comes while its request is handed over, on this thread: nothing need be
/// posted then, nor watched. It refuses the reply of another thread, and a late one.
class EarlyReply {
 public:
  bool take(Reply& reply) {
    if (std::this_thread::get_id() != thread_ || !is_open_) return false;
    if (!reply_) reply_ = std::move(reply);
    return true;
  }
  /// What came. By the thread that made this.
  std::optional<Reply> close() {
    is_open_ = false;
    return std::exchange(reply_, std::nullopt);
  }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  bool is_open_ = true;  ///< as `reply_`, of that thread alone
  std::optional<Reply> reply_;
};

/// What another reader of the head, such as a proxy, may take for something else than the daemon
/// does; nullptr if nothing.
const char* ambiguity_of(const wire::request_header<>& head) {
  if (head.version() >= 11 && head.count(wire::field::host) == 0) {
    return "a request has one Host";
  }
  // RFC 9112, section 6.3: Beast ignores other codings, so that their body would be the next
  // request.
  const std::size_t num_codings = head.count(wire::field::transfer_encoding);
  const bool is_chunked = num_codings == 1 && head.version() >= 11 &&
                          beast::iequals(head[wire::field::transfer_encoding], "chunked");
  if (num_codings > 0 && !is_chunked) return "Transfer-Encoding: the daemon takes chunked alone";
  return nullptr;
}

std::string head_of(const Reply& reply, bool is_chunked, bool is_last) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", reply.status,
                  view_of(wire::obsolete_reason(static_cast<wire::status>(reply.status))));
  head.reserve(kUsualHeadBytes);
  visit_fields(reply, [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  });
  if (reply.stream != nullptr && is_chunked) head += "Transfer-Encoding: chunked\r\n";
  head += is_last ? "Connection: close\r\n\r\n" : "\r\n";
  return head;
}

}  // namespace

void Http1::finish() {
  is_last_ = true;
  if (is_waiting_) connection_.close();
}

void Http1::end() {
  if (cancel_) std::exchange(cancel_, nullptr)();
  self_ = nullptr;  // the caller holds the connection
}

void Http1::read_head() {
  wants_head_ = is_watching_;
  if (wants_head_) return;
  parser_.emplace();
  parser_->header_limit(kMaxHeadBytes);
  parser_->body_limit(static_cast<std::uint64_t>(options().max_body_bytes));
  arrival_.reset();
  reply_ = {};
  is_waiting_ = is_first_ || buffer().size() == 0;
  connection_.set_idle_since(system_clock().now_ns());
  stream().plain().expires_after(nanoseconds(options().head_ns));
  wire::async_read_header(
      stream(), buffer(), *parser_,
      [self = self()](beast::error_code error, std::size_t) { self->take_head(error); });
}

void Http1::take_head(beast::error_code error) {
  is_waiting_ = false;
  is_first_ = false;
  connection_.set_idle_since(0);
  if (error) return refuse(error);
  if (const char* fault = ambiguity_of(parser_->get())) return refuse(400, fault);
  arrival_.emplace(connection_.peer());
  if (const auto refusal = take_fields()) return refuse(*refusal);
  body_bytes_ = static_cast<std::size_t>(parser_->content_length().value_or(0));
  arrival_->begin_body(connection_.shared()->bodies, body_bytes_, options().max_body_bytes,
                       system_clock().now_ns());
  if (arrival_->waits_for_word() && !parser_->is_done()) return tell_to_go_on();
  read_body();
}

std::optional<Refusal> Http1::take_fields() {
  const auto& head = parser_->get();
  for (const auto& field : head) {
    // HTTP/1.0 has no expectations (RFC 9110, section 10.1.1).
    if (field.name() == wire::field::expect && head.version() < 11) continue;
    auto refusal = arrival_->take_field(view_of(field.name_string()), view_of(field.value()));
    if (refusal) return refusal;
  }
  return std::nullopt;
}

void Http1::tell_to_go_on() {
  static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
  unsent_ = {asio::buffer(kGoOn)};
  stream().plain().expires_after(nanoseconds(options().idle_ns));
  stream().async_write_some(unsent_, [self = self()](beast::error_code failure, std::size_t num) {
    if (failure || num != kGoOn.size()) {
      self->connection_.close();
    } else {
      self->read_body();
    }
  });
}

void Http1::expect_more() {
  const std::int64_t now_ns = system_clock().now_ns();
  const std::int64_t late_ns = arrival_->late_ns(now_ns, options().idle_ns);
  stream().plain().expires_after(nanoseconds(late_ns - now_ns));
}

void Http1::read_body() {
  if (body_bytes_ > 0) {
    read_known_body();
  } else if (parser_->is_done()) {
    take_request();
  } else {
    read_chunks();
  }
}

/// From the socket to where it stays.
void Http1::read_known_body() {
  const std::size_t left = arrival_->left_bytes();
  if (left == 0) return take_request();
  if (const Status status = arrival_->make_room(); !status.is_ok()) {
    return refuse(body_refusal(status));
  }
  Body& body = arrival_->body();
  const std::size_t room = std::min(left, body.room());
  if (buffer().size() > 0) {  // came with the head
    const std::size_t num = std::min(room, buffer().size());
    std::memcpy(body.end(), buffer().data().data(), num);
    buffer().consume(num);
    body.add(num);
    return read_known_body();
  }
  expect_more();
  stream().async_read_some(asio::buffer(body.end(), room),
                           [self = self()](beast::error_code error, std::size_t num) {
                             self->arrival_->body().add(num);
                             if (error) {
                               self->connection_.close();
                             } else {
                               self->read_known_body();
                             }
                           });
}

void Http1::read_chunks() {
  if (const Status status = arrival_->make_room(); !status.is_ok()) {
    return refuse(body_refusal(status));
  }
  auto& part = parser_->get().body();
  part.data = arrival_->body().end();
  part.size = arrival_->body().room();
  part.more = true;
  const std::size_t wanted = part.size;
  expect_more();
  wire::async_read_some(stream(), buffer(), *parser_,
                        [self = self(), wanted](beast::error_code error, std::size_t) {
                          const std::size_t left = self->parser_->get().body().size;
                          self->arrival_->body().add(wanted - left);
                          if (error && error != wire::error::need_buffer) {
                            self->refuse(error);
                          } else {
                            self->read_body();
                          }
                        });
}

void Http1::take_request() {
  if (!connection_.is_open()) return;  // stopped while the last byte was on its way
  const auto& head = parser_->get();
  Request request = arrival_->take();
  request.method = std::string(view_of(head.method_string()));
  std::string_view target = view_of(head.target());
  // RFC 9112, section 3.2.2: the absolute form is to be taken, and its host is the one that counts.
  const std::string_view scheme = stream().has_tls() ? "https://" : "http://";
  if (target.starts_with(scheme)) {
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    if (end > 0) request.host = std::string(target.substr(0, end));
    target.remove_prefix(end);
  }
  request.path = std::string(target.substr(0, target.find('?')));
  if (request.path.empty()) request.path = "/";
  if (!parser_->keep_alive()) is_last_ = true;
  is_answered_ = false;
  stream().plain().expires_never();
  self_ = self();
  const auto early = std::make_shared<EarlyReply>();
  const std::weak_ptr<Http1> weak = self_;
  const auto answer = [weak, early, shared = connection_.shared()](Reply reply) {
    if (early->take(reply)) return;
    post(weak, *shared,
         [reply = std::move(reply)](Http1& self) mutable { self.answer(std::move(reply)); });
  };
  cancel_ = connection_.compute(std::move(request), answer);
  if (auto reply = early->close()) this->answer(std::move(*reply));
  watch();
}

/// Cancels the request of a client that closes the connection. A client that has sent its next
/// request stays unnoticed, because those bytes come before the end.
void Http1::watch() {
  if (is_answered_ || buffer().size() > 0) return;
  is_watched_ = true;
  if (stream().has_tls()) return watch_tls();
  stream().socket().async_wait(Socket::wait_read, [self = self()](beast::error_code error) {
    if (error || self->is_answered_) return;
    char next = 0;
    const auto num =
        recv(self->stream().socket().native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
    const bool is_reset = num < 0 && errno != EAGAIN && errno != EINTR;
    if ((num == 0 || is_reset) && self->cancel_) self->cancel_();
  });
}

/// Only OpenSSL knows whether bytes of TLS are a request or the end, so that the first byte of the
/// next request is read.
void Http1::watch_tls() {
  is_watching_ = true;
  stream().async_read_some(buffer().prepare(1),
                           [self = self()](beast::error_code error, std::size_t num) {
                             self->is_watching_ = false;
                             self->buffer().commit(num);
                             if (error && !self->is_answered_ && self->cancel_) self->cancel_();
                             if (self->wants_head_) self->read_head();
                           });
}

void Http1::answer(Reply reply) {
  if (is_answered_ || !stream().socket().is_open()) {
    self_ = nullptr;  // the caller holds this
    return;
  }
  reply_ = std::move(reply);
  if (reply_.stream == nullptr) release_request();
  write();
}

/// Whoever computed the request needs to hear nothing more of its client.
void Http1::release_request() {
  self_ = nullptr;  // the caller holds this
  is_answered_ = true;
  cancel_ = nullptr;
  beast::error_code ignored;
  if (std::exchange(is_watched_, false)) stream().socket().cancel(ignored);
}

void Http1::write() {
  encode_body(reply_);  // a large one is coded already
  is_chunked_ = parser_ && parser_->get().version() >= 11;
  // The head tells the client to send no other request here. A goodbye that comes later waits for
  // the next reply.
  if (is_leaving_ || (reply_.stream != nullptr && !is_chunked_)) is_last_ = true;
  head_ = head_of(reply_, is_chunked_, is_last_);
  // A client that asked for the head alone takes a body for its next reply.
  const bool has_body = !parser_ || parser_->get().method() != wire::verb::head;
  unsent_ = {asio::buffer(head_)};
  if (has_body && reply_.stream == nullptr) {
    for (const std::string_view part : parts_of(reply_)) unsent_.push_back(asio::buffer(part));
  }
  // Nothing waits before it: a reply is written whole before the next request is read.
  if (!stream().has_tls()) send_now();
  write_some();
}

/// What the socket takes at once, without Asio and its timers. An error shows in the next write.
void Http1::send_now() {
  std::array<iovec, kMaxParts> parts = {};
  std::size_t num_parts = 0;
  for (const asio::const_buffer& part : unsent_) {
    if (num_parts == parts.size()) break;
    parts[num_parts++] = {const_cast<void*>(part.data()), part.size()};  // NOLINT: only read
  }
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = num_parts;
  const ssize_t num =
      sendmsg(stream().socket().native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (num > 0) drop_sent(static_cast<std::size_t>(num));
}

void Http1::drop_sent(std::size_t num) {
  for (asio::const_buffer& part : unsent_) {
    const std::size_t sent = std::min(num, part.size());
    part += sent;
    num -= sent;
  }
  std::erase_if(unsent_, [](const asio::const_buffer& part) { return part.size() == 0; });
}

void Http1::write_some() {
  drop_sent(0);
  if (unsent_.empty()) {
    if (reply_.stream != nullptr) return write_piece();
    end_reply();
    return;
  }
  // For each part anew: a client may read slowly, but not stop.
  stream().plain().expires_after(nanoseconds(options().idle_ns));
  stream().async_write_some(unsent_, [self = self()](beast::error_code error, std::size_t num) {
    if (error) {
      self->connection_.close();
      return;
    }
    self->drop_sent(num);
    self->write_some();
  });
}

/// Writes what the stream has since the last piece. Between two pieces only the watch is pending.
void Http1::write_piece() {
  static constexpr std::string_view kLastChunk = "0\r\n\r\n";
  static constexpr std::string_view kEndOfChunk = "\r\n";
  if (!stream().socket().is_open()) return;
  piece_ = reply_.stream->take();
  if (!piece_.empty()) {
    unsent_ = {asio::buffer(piece_)};
    if (is_chunked_) {
      head_ = fmt::format("{:x}\r\n", piece_.size());
      unsent_ = {asio::buffer(head_), asio::buffer(piece_), asio::buffer(kEndOfChunk)};
    }
  } else if (reply_.stream->is_over()) {
    reply_.stream = nullptr;
    release_request();
    if (is_chunked_) unsent_ = {asio::buffer(kLastChunk)};
  } else {
    stream().plain().expires_never();
    reply_.stream->wait([weak = std::weak_ptr<Http1>(self()), shared = connection_.shared()] {
      post(weak, *shared, [](Http1& self) { self.write_piece(); });
    });
    return;
  }
  write_some();
}

void Http1::end_reply() {
  reply_ = {};
  if (is_refused_ || (is_last_ && stream().has_tls())) {
    connection_.drain();
  } else if (is_last_) {
    connection_.close();
  } else {
    read_head();
  }
}

void Http1::refuse(int status, std::string_view message) {
  is_waiting_ = false;
  is_last_ = true;
  is_refused_ = true;
  reply_ = error_reply(status, message);
  write();
}

void Http1::refuse(const beast::error_code& error) {
  using Error = wire::error;
  // The client is gone, or has sent nothing for too long.
  if (error == Error::end_of_stream || error == beast::error::timeout ||
      error.category() != make_error_code(Error::end_of_stream).category()) {
    connection_.close();
    return;
  }
  if (error == Error::header_limit || error == Error::buffer_overflow)
    return refuse(431, "the head is too large");
  if (error == Error::body_limit) {
    return refuse(413, fmt::format("the body has more than {} bytes", options().max_body_bytes));
  }
  if (error == Error::bad_version) return refuse(505, "the daemon speaks HTTP/1.1");
  if (error == Error::partial_message) return connection_.close();
  refuse(400, error.message());
}

}  // namespace sluice::http
