// The bytes of a connection for Asio and Beast: as they are, or by TLS.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_stream.hpp>
#include <openssl/ssl.h>

#include <optional>
#include <utility>

namespace sluice::tls {

/// Beast's AsyncReadStream and AsyncWriteStream. All calls, and all handlers, are on the strand of
/// the executor; one read and one write may be pending at a time. Deadlines are the plain stream's:
/// of what begins after they were set, a handshake too.
class ByteStream {
 public:
  using Protocol = boost::asio::generic::stream_protocol;
  using Plain =
      boost::beast::basic_stream<Protocol,
                                 boost::asio::strand<boost::asio::io_context::executor_type>>;
  using Socket = Plain::socket_type;
  // NOLINTNEXTLINE(readability-identifier-naming): Asio's name
  using executor_type = Plain::executor_type;

  explicit ByteStream(const executor_type& executor) : plain_(executor) {}

  executor_type get_executor() { return plain_.get_executor(); }
  /// What TLS travels on. Its socket may be closed at any time.
  Plain& plain() { return plain_; }
  Socket& socket() { return plain_.socket(); }
  bool has_tls() const { return tls_.has_value(); }

  /// From now on bytes go by TLS; a handshake comes first. Throws boost::system::system_error
  /// without memory.
  void begin_tls(SSL_CTX& context) {
    SSL_CTX_up_ref(&context);  // the wrapper gives one back
    boost::asio::ssl::context wrapper(&context);
    tls_.emplace(plain_, wrapper);
  }
  /// What OpenSSL knows of the connection. Requires: begin_tls.
  SSL& tls() { return *tls_->next_layer().native_handle(); }
  /// As a server. `came`: what the client has sent so far, unchanged until `handler` is called with
  /// an error and the number of bytes that were used. Requires: begin_tls.
  template <typename Handler>
  void async_accept_tls(boost::asio::const_buffer came, Handler&& handler) {
    tls_->next_layer().async_handshake(boost::asio::ssl::stream_base::server, came,
                                       std::forward<Handler>(handler));
  }
  /// As a client; `handler` gets an error. Requires: begin_tls.
  template <typename Handler>
  void async_connect_tls(Handler&& handler) {
    tls_->next_layer().async_handshake(boost::asio::ssl::stream_base::client,
                                       std::forward<Handler>(handler));
  }
  /// Tells the other end that nothing was cut off, and waits for it to say the same; `handler` gets
  /// an error. Requires: begin_tls.
  template <typename Handler>
  void async_end_tls(Handler&& handler) {
    tls_->next_layer().async_shutdown(std::forward<Handler>(handler));
  }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    } else {
      plain_.async_read_some(buffers, std::forward<Handler>(handler));
    }
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    } else {
      plain_.async_write_some(buffers, std::forward<Handler>(handler));
    }
  }

 private:
  Plain plain_;
  /// Flat: OpenSSL would write a record for each of several buffers.
  std::optional<boost::beast::flat_stream<boost::asio::ssl::stream<Plain&>>> tls_;
};

}  // namespace sluice::tls
