#include "http/connection.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/detect_ssl.hpp>
#include <boost/beast/http/read.hpp>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "tls/peer.h"

namespace sluice::http {
namespace {

namespace wire = beast::http;
using std::chrono::nanoseconds;

constexpr std::uint32_t kMaxHeadBytes = 16 << 10;
/// What a body gets at first: one that is not larger is never moved.
constexpr std::size_t kFirstBytes = 1 << 20;
/// The same of one whose size is unknown.
constexpr std::size_t kFirstChunk = 16 << 10;
constexpr std::size_t kLeastBytesPerMs = 16;  // of a body, on average, after the first idle time
constexpr nanoseconds kDrainTime = std::chrono::seconds(2);
constexpr std::size_t kMaxDrainedBytes = 1 << 20;
constexpr const char* kJsonBytes = "Inference-Header-Content-Length";

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

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

/// What another reader of the head, such as a proxy, may take for something else than the daemon
/// does; nullptr if nothing.
const char* ambiguity_of(const wire::request_header<>& head) {
  // RFC 9112, section 3.2: whoever looks at another Host than the guard of the daemon must not
  // pass.
  const std::size_t num_hosts = head.count(wire::field::host);
  if (num_hosts > 1 || (num_hosts == 0 && head.version() >= 11)) {
    return "a request of HTTP/1.1 has one Host";
  }
  if (head.count(wire::field::origin) > 1) return "a request has at most one Origin";
  // Section 6.3: Beast ignores other codings, so that their body would be the next request.
  const std::size_t num_codings = head.count(wire::field::transfer_encoding);
  const bool is_chunked = num_codings == 1 && head.version() >= 11 &&
                          beast::iequals(head[wire::field::transfer_encoding], "chunked");
  if (num_codings > 0 && !is_chunked) return "Transfer-Encoding: the daemon takes chunked alone";
  return nullptr;
}

/// How the client knows where the reply ends.
std::string length_of(const Reply& reply, bool is_chunked) {
  const std::size_t num_bytes = reply.coded.empty() ? reply.size_bytes() : reply.coded.size();
  if (reply.stream == nullptr) return fmt::format("Content-Length: {}\r\n", num_bytes);
  const std::string_view chunks = is_chunked ? "Transfer-Encoding: chunked\r\n" : "";
  return fmt::format("Cache-Control: no-store\r\n{}", chunks);
}

std::string head_of(const Reply& reply, std::string_view length, bool is_last) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", reply.status,
                  view_of(wire::obsolete_reason(static_cast<wire::status>(reply.status))));
  // 304 has no content, and a length would be that of what the client has.
  if (reply.status != 304) head += fmt::format("Content-Type: {}\r\n{}", reply.type, length);
  head += reply.fields;
  if (reply.coding != Coding::kIdentity) {
    head += fmt::format("Content-Encoding: {}\r\n", coding_name(reply.coding));
  }
  if (reply.has_json_head) head += fmt::format("{}: {}\r\n", kJsonBytes, reply.text.size());
  if (reply.status == 401) head += "WWW-Authenticate: Bearer\r\n";  // RFC 9110, section 11.6.1
  if (!reply.allow.empty()) head += fmt::format("Allow: {}\r\n", reply.allow);
  head += is_last ? "Connection: close\r\n\r\n" : "\r\n";
  return head;
}

}  // namespace

Connection::Connection(std::shared_ptr<Shared> shared, int fd, int family, terms::Peer peer,
                       tls::Context tls)
    : shared_(std::move(shared)),
      stream_(asio::make_strand(*shared_->io)),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      buffer_(kMaxHeadBytes),
      idle_since_ns_(system_clock().now_ns()) {
  beast::error_code error;  // such as no room for it in epoll: the first read then fails
  stream_.socket().assign(asio::generic::stream_protocol(family, 0), fd, error);
  if (error) ::close(fd);
}

void Connection::start() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->look(); });
}

void Connection::say_goodbye() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->is_leaving_ = true; });
}

void Connection::finish() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
    self->is_last_ = true;
    if (self->is_waiting_) self->close();
  });
}

void Connection::stop() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->close(); });
}

void Connection::look() {
  const std::int64_t most_ns =
      tls_ == nullptr ? shared_->options.head_ns : shared_->options.handshake_ns;
  stream_.plain().expires_after(nanoseconds(most_ns));
  beast::async_detect_ssl(stream_, buffer_,
                          [self = shared_from_this()](beast::error_code error, bool is_tls) {
                            self->take_first_bytes(error, is_tls);
                          });
}

void Connection::take_first_bytes(beast::error_code error, bool is_tls) {
  if (error) return close();
  if (is_tls != (tls_ != nullptr)) {
    is_waiting_ = false;
    return refuse(400, tls_ == nullptr ? "this port has no TLS: ask by http://"
                                       : "this port has TLS: ask by https://");
  }
  if (!is_tls) return read_head();
  stream_.begin_tls(*tls_);  // the deadline stays
  stream_.async_accept_tls(
      buffer_.data(), [self = shared_from_this()](beast::error_code failure, std::size_t num_used) {
        self->take_handshake(failure, num_used);
      });
}

void Connection::take_handshake(beast::error_code error, std::size_t num_used) {
  if (error) {  // OpenSSL has told the client, who may be late to read it
    stream_.plain().expires_after(kDrainTime);
    return end_writing();
  }
  // The client had to wait for the server's part, so that it has sent no more than was used.
  buffer_.consume(num_used);
  if (buffer_.size() > 0) return close();
  peer_.certificate = tls::certificate_name(stream_.tls());
  read_head();
}

void Connection::read_head() {
  wants_head_ = is_watching_;
  if (wants_head_) return;
  parser_.emplace();
  parser_->header_limit(kMaxHeadBytes);
  parser_->body_limit(static_cast<std::uint64_t>(shared_->options.max_body_bytes));
  body_ = nullptr;
  reply_ = {};
  is_waiting_ = is_first_ || buffer_.size() == 0;
  idle_since_ns_ = system_clock().now_ns();
  stream_.plain().expires_after(nanoseconds(shared_->options.head_ns));
  wire::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                            self->take_head(error);
                          });
}

void Connection::take_head(beast::error_code error) {
  is_waiting_ = false;
  is_first_ = false;
  idle_since_ns_ = 0;
  if (error) {
    refuse(error);
    return;
  }
  const auto& head = parser_->get();
  if (const char* fault = ambiguity_of(head)) {
    refuse(400, fault);
    return;
  }
  json_bytes_ = -1;
  if (const auto it = head.find(kJsonBytes); it != head.end()) {
    json_bytes_ = count_of(view_of(it->value()));
    if (json_bytes_ < 0) {
      refuse(400, fmt::format("{} is no count", kJsonBytes));
      return;
    }
  }
  const auto coding = head.count(wire::field::content_encoding) > 1
                          ? std::nullopt
                          : find_coding(view_of(head[wire::field::content_encoding]));
  coding_ = coding.value_or(Coding::kIdentity);
  if (!coding && head.find(wire::field::content_encoding) != head.end()) {
    refuse(415, "Content-Encoding: the daemon takes gzip or deflate");
    return;
  }
  // RFC 9110, section 10.1.1
  const bool expects = head.version() >= 11 && head.find(wire::field::expect) != head.end();
  const bool waits = expects && beast::iequals(head[wire::field::expect], "100-continue");
  if (expects && !waits) {
    refuse(417, "Expect: the daemon knows 100-continue alone");
    return;
  }
  body_ = std::make_shared<Body>(shared_->bodies, json_bytes_, shared_->options.max_body_bytes);
  body_bytes_ = static_cast<std::size_t>(parser_->content_length().value_or(0));
  body_began_ = std::chrono::steady_clock::now();
  if (waits && !parser_->is_done()) {
    static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
    unsent_ = {asio::buffer(kGoOn)};
    stream_.plain().expires_after(nanoseconds(shared_->options.idle_ns));
    stream_.async_write_some(
        unsent_, [self = shared_from_this()](beast::error_code failure, std::size_t num) {
          if (failure || num != kGoOn.size()) {
            self->close();
          } else {
            self->read_body();
          }
        });
    return;
  }
  read_body();
}

/// A body may come slowly, but not a byte at a time: what it takes of the budget is everybody's.
void Connection::expect_more() {
  const nanoseconds idle(shared_->options.idle_ns);
  const std::chrono::milliseconds earned(body_->size() / kLeastBytesPerMs);
  stream_.plain().expires_at(
      std::min(std::chrono::steady_clock::now() + idle, body_began_ + idle + earned));
}

void Connection::refuse_body(const Status& status) {
  refuse(body_status(status), status.message());
}

void Connection::read_body() {
  if (body_bytes_ > 0) {
    read_known_body();
  } else if (parser_->is_done()) {
    take_request();
  } else {
    read_chunks();
  }
}

/// From the socket to where it stays. Memory grows with what has come, because the head may lie.
void Connection::read_known_body() {
  const std::size_t left = body_bytes_ - body_->size();
  if (left == 0) {
    take_request();
    return;
  }
  if (body_->room() == 0) {
    const std::size_t wanted = body_->size() + std::min(left, kFirstBytes);
    if (const Status status = body_->reserve(std::min(wanted, body_bytes_)); !status.is_ok()) {
      refuse_body(status);
      return;
    }
  }
  const std::size_t room = std::min(left, body_->room());
  if (buffer_.size() > 0) {  // came with the head
    const std::size_t num = std::min(room, buffer_.size());
    std::memcpy(body_->end(), buffer_.data().data(), num);
    buffer_.consume(num);
    body_->add(num);
    read_known_body();
    return;
  }
  expect_more();
  stream_.async_read_some(asio::buffer(body_->end(), room),
                          [self = shared_from_this()](beast::error_code error, std::size_t num) {
                            self->body_->add(num);
                            if (error) {
                              self->close();
                            } else {
                              self->read_known_body();
                            }
                          });
}

void Connection::read_chunks() {
  if (body_->room() == 0) {
    if (const Status status = body_->reserve(body_->size() + kFirstChunk); !status.is_ok()) {
      refuse_body(status);
      return;
    }
  }
  auto& part = parser_->get().body();
  part.data = body_->end();
  part.size = body_->room();
  part.more = true;
  const std::size_t wanted = part.size;
  expect_more();
  wire::async_read_some(stream_, buffer_, *parser_,
                        [self = shared_from_this(), wanted](beast::error_code error, std::size_t) {
                          self->body_->add(wanted - self->parser_->get().body().size);
                          if (error && error != wire::error::need_buffer) {
                            self->refuse(error);
                          } else {
                            self->read_body();
                          }
                        });
}

/// Runs `work` on the connection's strand. From any thread; nothing happens if it has gone.
template <typename Work>
void Connection::post(const std::weak_ptr<Connection>& weak, Shared& shared, Work work) {
  const std::lock_guard lock(shared.mutex);
  if (shared.io == nullptr) return;
  const auto self = weak.lock();
  if (self == nullptr) return;
  asio::post(self->stream_.get_executor(),
             [self, work = std::move(work)]() mutable { work(*self); });
}

void Connection::take_request() {
  if (!stream_.socket().is_open()) return;  // stopped while the last byte was on its way
  const auto& head = parser_->get();
  Request request;
  request.method = std::string(view_of(head.method_string()));
  std::string_view target = view_of(head.target());
  request.host = std::string(view_of(head[wire::field::host]));
  // RFC 9112, section 3.2.2: the absolute form is to be taken, and its host is the one that counts.
  const std::string_view scheme = tls_ == nullptr ? "http://" : "https://";
  if (target.starts_with(scheme)) {
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    if (end > 0) request.host = std::string(target.substr(0, end));
    target.remove_prefix(end);
  }
  request.path = std::string(target.substr(0, target.find('?')));
  if (request.path.empty()) request.path = "/";
  request.peer = peer_;
  request.authorization = std::string(view_of(head[wire::field::authorization]));
  request.origin = std::string(view_of(head[wire::field::origin]));
  request.if_none_match = std::string(view_of(head[wire::field::if_none_match]));
  request.json_bytes = json_bytes_;
  request.coding = coding_;
  request.accept_encoding = std::string(view_of(head[wire::field::accept_encoding]));
  request.traceparent = std::string(view_of(head["traceparent"]));
  request.tracestate = std::string(view_of(head["tracestate"]));
  request.accept = std::string(view_of(head[wire::field::accept]));
  request.request_id = std::string(view_of(head["x-request-id"]));
  request.load_format = std::string(view_of(head["endpoint-load-metrics-format"]));
  request.body = std::move(body_);
  if (!parser_->keep_alive()) is_last_ = true;
  is_answered_ = false;
  stream_.plain().expires_never();
  const auto answer = [weak = weak_from_this(), shared = shared_](Reply reply) {
    post(weak, *shared,
         [reply = std::move(reply)](Connection& self) mutable { self.answer(std::move(reply)); });
  };
  self_ = shared_from_this();
  try {
    cancel_ = shared_->handler(std::move(request), answer);
  } catch (const std::exception& error) {  // what one request throws must not end the others
    answer(error_reply(500, error.what()));
  }
  watch();
}

/// Cancels the request of a client that closes the connection. A client that has sent its next
/// request stays unnoticed, because those bytes come before the end.
void Connection::watch() {
  if (is_answered_ || buffer_.size() > 0) return;
  if (stream_.has_tls()) return watch_tls();
  stream_.socket().async_wait(
      Socket::wait_read, [self = shared_from_this()](beast::error_code error) {
        if (error || self->is_answered_) return;
        char next = 0;
        const auto num =
            recv(self->stream_.socket().native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
        const bool is_reset = num < 0 && errno != EAGAIN && errno != EINTR;
        if ((num == 0 || is_reset) && self->cancel_) self->cancel_();
      });
}

/// Only OpenSSL knows whether bytes of TLS are a request or the end, so that the first byte of the
/// next request is read.
void Connection::watch_tls() {
  is_watching_ = true;
  stream_.async_read_some(buffer_.prepare(1),
                          [self = shared_from_this()](beast::error_code error, std::size_t num) {
                            self->is_watching_ = false;
                            self->buffer_.commit(num);
                            if (error && !self->is_answered_ && self->cancel_) self->cancel_();
                            if (self->wants_head_) self->read_head();
                          });
}

void Connection::answer(Reply reply) {
  if (is_answered_ || !stream_.socket().is_open()) {
    self_ = nullptr;  // the caller holds this
    return;
  }
  reply_ = std::move(reply);
  if (reply_.stream == nullptr) release_request();
  write();
}

/// Whoever computed the request needs to hear nothing more of its client.
void Connection::release_request() {
  self_ = nullptr;  // the caller holds this
  is_answered_ = true;
  cancel_ = nullptr;
  beast::error_code ignored;
  stream_.socket().cancel(ignored);  // the watch
}

void Connection::write() {
  encode_body(reply_);  // a large one is coded already
  std::vector<std::string_view> parts = {reply_.text};
  parts.insert(parts.end(), reply_.parts.begin(), reply_.parts.end());
  if (!reply_.coded.empty()) parts = {reply_.coded};
  is_chunked_ = parser_ && parser_->get().version() >= 11;
  // The head tells the client to send no other request here. A goodbye that comes later waits for
  // the next reply.
  if (is_leaving_ || (reply_.stream != nullptr && !is_chunked_)) is_last_ = true;
  head_ = head_of(reply_, length_of(reply_, is_chunked_), is_last_);
  // A client that asked for the head alone takes a body for its next reply.
  const bool has_body = !parser_ || parser_->get().method() != wire::verb::head;
  unsent_ = {asio::buffer(head_)};
  if (has_body && reply_.stream == nullptr) {
    for (const std::string_view part : parts) unsent_.push_back(asio::buffer(part));
  }
  write_some();
}

void Connection::write_some() {
  while (!unsent_.empty() && unsent_.front().size() == 0) unsent_.erase(unsent_.begin());
  if (unsent_.empty()) {
    if (reply_.stream != nullptr) return write_piece();
    end_reply();
    return;
  }
  // For each part anew: a client may read slowly, but not stop.
  stream_.plain().expires_after(nanoseconds(shared_->options.idle_ns));
  stream_.async_write_some(unsent_,
                           [self = shared_from_this()](beast::error_code error, std::size_t num) {
                             if (error) {
                               self->close();
                               return;
                             }
                             for (asio::const_buffer& part : self->unsent_) {
                               const std::size_t sent = std::min(num, part.size());
                               part += sent;
                               num -= sent;
                             }
                             self->write_some();
                           });
}

/// Writes what the stream has since the last piece. Between two pieces only the watch is pending.
void Connection::write_piece() {
  static constexpr std::string_view kLastChunk = "0\r\n\r\n";
  static constexpr std::string_view kEndOfChunk = "\r\n";
  if (!stream_.socket().is_open()) return;
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
    stream_.plain().expires_never();
    reply_.stream->wait([weak = weak_from_this(), shared = shared_] {
      post(weak, *shared, [](Connection& self) { self.write_piece(); });
    });
    return;
  }
  write_some();
}

void Connection::end_reply() {
  reply_ = {};
  if (is_refused_ || (is_last_ && stream_.has_tls())) {
    drain();
  } else if (is_last_) {
    close();
  } else {
    read_head();
  }
}

/// A request that cannot be read leaves no place where the next one begins.
void Connection::refuse(int status, std::string_view message) {
  is_last_ = true;
  is_refused_ = true;
  reply_ = error_reply(status, message);
  write();
}

void Connection::refuse(const beast::error_code& error) {
  using Error = wire::error;
  // The client is gone, or has sent nothing for too long.
  if (error == Error::end_of_stream || error == beast::error::timeout ||
      error.category() != make_error_code(Error::end_of_stream).category()) {
    close();
    return;
  }
  if (error == Error::header_limit || error == Error::buffer_overflow)
    return refuse(431, "the head is too large");
  if (error == Error::body_limit) {
    return refuse(413,
                  fmt::format("the body has more than {} bytes", shared_->options.max_body_bytes));
  }
  if (error == Error::bad_version) return refuse(505, "the daemon speaks HTTP/1.1");
  if (error == Error::partial_message) return close();
  refuse(400, error.message());
}

void Connection::drain() {
  stream_.plain().expires_after(kDrainTime);
  if (!stream_.has_tls()) return end_writing();
  // Without these words of TLS a client may take the reply for one that was cut off.
  stream_.async_end_tls(
      [self = shared_from_this()](beast::error_code /*ignored*/) { self->end_writing(); });
}

void Connection::end_writing() {
  beast::error_code ignored;
  stream_.socket().shutdown(Socket::shutdown_send, ignored);
  read_rest();
}

void Connection::read_rest() {
  buffer_.consume(buffer_.size());
  stream_.plain().async_read_some(
      buffer_.prepare(kFirstChunk),
      [self = shared_from_this()](beast::error_code error, std::size_t num) {
        self->num_drained_ += num;
        if (error || self->num_drained_ > kMaxDrainedBytes) {
          self->close();
        } else {
          self->read_rest();
        }
      });
}

void Connection::close() {
  if (cancel_) std::exchange(cancel_, nullptr)();
  self_ = nullptr;  // the caller holds this
  stream_.plain().close();
}

}  // namespace sluice::http
