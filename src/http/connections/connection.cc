#include "http/connections/connection.h"

#include <boost/asio/dispatch.hpp>
#include <boost/beast/core/detect_ssl.hpp>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "http/connections/http1.h"
#include "http/connections/http2.h"
#include "http2/frames.h"
#include "tls/peer.h"

namespace sluice::http {
namespace {

using std::chrono::nanoseconds;

bool has_agreed_on_http2(const SSL& ssl) {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(&ssl, &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

}  // namespace

Connection::Connection(std::shared_ptr<Shared> shared, asio::io_context& io, int fd, int family,
                       terms::Peer peer, tls::Context tls)
    : shared_(std::move(shared)),
      stream_(asio::make_strand(io)),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      buffer_(kMaxHeadBytes),
      idle_since_ns_(system_clock().now_ns()) {
  buffer_.reserve(kFirstReadBytes);  // Beast reads as much as there is room for
  beast::error_code error;           // such as no room for it in epoll: the first read then fails
  stream_.socket().assign(asio::generic::stream_protocol(family, 0), fd, error);
  if (error) ::close(fd);
}

void Connection::start() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->look(); });
}

void Connection::say_goodbye() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
    self->is_leaving_ = true;
    if (self->protocol_ != nullptr) self->protocol_->say_goodbye();
  });
}

void Connection::finish() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
    if (self->protocol_ == nullptr) {
      self->close();
    } else {
      self->protocol_->finish();
    }
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
    idle_since_ns_ = 0;
    auto protocol = std::make_unique<Http1>(*this);
    Http1& http1 = *protocol;
    protocol_ = std::move(protocol);
    return http1.refuse(400, tls_ == nullptr ? "this port has no TLS: ask by http://"
                                             : "this port has TLS: ask by https://");
  }
  if (!is_tls) return look_for_preface();
  stream_.begin_tls(*tls_);  // the deadline stays
  stream_.async_accept_tls(
      buffer_.data(), [self = shared_from_this()](beast::error_code failure, std::size_t num_used) {
        self->take_handshake(failure, num_used);
      });
}

void Connection::take_handshake(beast::error_code error, std::size_t num_used) {
  if (error) {  // OpenSSL has told the client, who may be late to read it
    stream_.plain().expires_after(nanoseconds(kDrainNs));
    return end_writing();
  }
  // The client had to wait for the server's part, so that it has sent no more than was used.
  buffer_.consume(num_used);
  if (buffer_.size() > 0) return close();
  peer_.certificate = tls::certificate_name(stream_.tls());
  if (has_agreed_on_http2(stream_.tls())) {
    speak(std::make_unique<Http2>(*this));
  } else {
    speak(std::make_unique<Http1>(*this));
  }
}

/// One byte differs soon: only PRI and PROPFIND begin alike.
void Connection::look_for_preface() {
  const std::string_view came(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  const std::size_t num = std::min(came.size(), http2::kPreface.size());
  if (!http2::kPreface.starts_with(came.substr(0, num))) {
    return speak(std::make_unique<Http1>(*this));
  }
  if (num == http2::kPreface.size()) return speak(std::make_unique<Http2>(*this));
  stream_.async_read_some(  // the deadline stays
      buffer_.prepare(kReadBytes - buffer_.size()),
      [self = shared_from_this()](beast::error_code error, std::size_t count) {
        self->buffer_.commit(count);
        if (error) {
          self->close();
        } else {
          self->look_for_preface();
        }
      });
}

void Connection::speak(std::unique_ptr<Protocol> protocol) {
  if (!is_open()) return;  // stopped meanwhile
  protocol_ = std::move(protocol);
  if (is_leaving_) protocol_->say_goodbye();
  protocol_->begin();
}

Cancel Connection::compute(Request request, const Answer& answer) {
  try {
    return shared_->handler(std::move(request), answer);
  } catch (const std::exception& error) {  // what one request throws must not end the others
    answer(error_reply(500, error.what()));
    return nullptr;
  }
}

void Connection::drain() {
  stream_.plain().expires_after(nanoseconds(kDrainNs));
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
      buffer_.prepare(kReadBytes),
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
  if (protocol_ != nullptr) protocol_->end();
  stream_.plain().close();
}

}  // namespace sluice::http
