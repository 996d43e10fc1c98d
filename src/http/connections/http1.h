// HTTP/1.1 on one connection.
#pragma once

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/connections/arrival.h"
#include "http/connections/connection.h"

namespace sluice::http {

/// All runs on the connection's strand.
///
///     reading the head --> reading the body --> answering --> writing --keep alive--> reading ...
///            |                   |                                |
///            |                   |                                +--last--> closed
///            +--- cannot be -----+---> writing the error ---> draining ---> closed
///
/// A reply with a stream is written piece by piece, and its client is watched until its end.
///
/// Nothing of Asio's holds a connection while its request is computed, so it holds itself.
class Http1 final : public Protocol {
 public:
  /// The connection owns this.
  explicit Http1(Connection& connection) : connection_(connection) {}

  Connection& connection() { return connection_; }
  void begin() override { read_head(); }
  void say_goodbye() override { is_leaving_ = true; }
  void finish() override;
  void end() override;
  /// Instead of `begin`, and of each request that cannot be read: it leaves no place where the next
  /// one begins.
  void refuse(int status, std::string_view message);

 private:
  using Socket = tls::ByteStream::Socket;
  using Parser = beast::http::request_parser<beast::http::buffer_body>;

  /// Holds the connection.
  std::shared_ptr<Http1> self() { return {connection_.shared_from_this(), this}; }
  tls::ByteStream& stream() { return connection_.stream(); }
  beast::flat_buffer& buffer() { return connection_.buffer(); }
  const ServerOptions& options() const { return connection_.shared()->options; }

  void read_head();
  void take_head(beast::error_code error);
  std::optional<Refusal> take_fields();
  void tell_to_go_on();
  void expect_more();
  void read_body();
  void read_known_body();
  void read_chunks();
  void take_request();
  void watch();
  void watch_tls();
  void answer(Reply reply);
  void release_request();
  void write();
  void send_now();
  void drop_sent(std::size_t num);
  void write_some();
  void write_piece();
  void end_reply();
  void refuse(const Refusal& refusal) { refuse(refusal.status, refusal.message); }
  void refuse(const beast::error_code& error);

  Connection& connection_;
  std::optional<Parser> parser_;
  std::optional<Arrival> arrival_;
  std::size_t body_bytes_ = 0;   ///< that the head announced; 0: in chunks, or none
  std::shared_ptr<Http1> self_;  ///< from a request that is complete to the end of its reply
  Cancel cancel_;
  bool is_answered_ = false;  ///< the request that was taken last
  bool is_waiting_ = true;    ///< for the first byte of a request
  bool is_first_ = true;      ///< no request has come yet
  bool is_watched_ = false;   ///< an operation waits for what the client does meanwhile
  bool is_watching_ = false;  ///< a read of TLS is pending beside the answer
  bool wants_head_ = false;   ///< once that read has ended
  bool is_last_ = false;      ///< the connection closes after the reply
  bool is_leaving_ = false;   ///< the next reply to begin is the last
  bool is_refused_ = false;   ///< what came could not be read
  Reply reply_;
  bool is_chunked_ = false;  ///< the stream of the reply; a client of HTTP/1.0 reads to the end
  std::string head_;         ///< of the reply, or of a chunk
  std::string piece_;        ///< of the stream
  std::vector<asio::const_buffer> unsent_;
};

}  // namespace sluice::http
