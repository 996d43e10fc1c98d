// One connection over HTTP/1.1, with TLS or without.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/server.h"
#include "tls/byte_stream.h"

namespace sluice::http {

namespace asio = boost::asio;
namespace beast = boost::beast;

/// What the connections of a server share.
struct Shared {
  ServerOptions options;
  Handler handler;
  std::shared_ptr<ByteBudget> bodies;
  /// Threads that outlive the server bring answers, and post them while `io` is not null.
  std::mutex mutex;
  asio::io_context* io = nullptr;  ///< null once it is over
};

/// All but the constructor and what says otherwise runs on the connection's strand.
///
///     looking --TLS--> shaking hands --+
///        |                             v
///        +--no TLS--------> reading the head --> reading the body ...
///
///     reading the head --> reading the body --> answering --> writing --keep alive--> reading ...
///            |                   |                                |
///            |                   |                                +--last--> closed
///            +--- cannot be -----+---> writing the error ---> draining ---> closed
///
/// A reply with a stream is written piece by piece, and its client is watched until its end.
///
/// The first bytes say whether the client begins TLS. One that speaks otherwise than the port gets
/// an error in plain HTTP.
///
/// Nothing of Asio's holds a connection while its request is computed, so it holds itself.
///
/// Draining: closing a socket with unread bytes sends a reset, and the client may lose the reply;
/// so what it still sends is read for a short time.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `tls`: null for a connection without TLS.
  Connection(std::shared_ptr<Shared> shared, int fd, int family, terms::Peer peer,
             tls::Context tls);

  /// Called once.
  void start();
  /// Closes it after the next reply, which says so: a client that is just sending a request gets
  /// its reply.
  void say_goodbye();
  /// Closes it now if it is between two requests, and otherwise after the reply.
  void finish();
  /// Closes it now.
  void stop();
  /// Since when it has had no request, on the system clock; 0: it has one. From any thread.
  std::int64_t without_request_since_ns() const { return idle_since_ns_; }

 private:
  using Socket = tls::ByteStream::Socket;
  using Parser = beast::http::request_parser<beast::http::buffer_body>;

  void look();
  void take_first_bytes(beast::error_code error, bool is_tls);
  void take_handshake(beast::error_code error, std::size_t num_used);
  void read_head();
  void take_head(beast::error_code error);
  void expect_more();
  void refuse_body(const Status& status);
  void read_body();
  void read_known_body();
  void read_chunks();
  void take_request();
  void watch();
  void watch_tls();
  template <typename Work>
  static void post(const std::weak_ptr<Connection>& weak, Shared& shared, Work work);
  void answer(Reply reply);
  void release_request();
  void write();
  void write_some();
  void write_piece();
  void end_reply();
  void refuse(int status, std::string_view message);
  void refuse(const beast::error_code& error);
  void drain();
  void end_writing();
  void read_rest();
  void close();

  const std::shared_ptr<Shared> shared_;
  tls::ByteStream stream_;
  const tls::Context tls_;  ///< null: none
  terms::Peer peer_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<Body> body_;
  std::int64_t json_bytes_ = -1;       ///< of the body are JSON, as the head says; -1: says nothing
  Coding coding_ = Coding::kIdentity;  ///< of the body
  std::chrono::steady_clock::time_point body_began_;
  std::size_t body_bytes_ = 0;        ///< that the head announced; 0: in chunks, or none
  std::shared_ptr<Connection> self_;  ///< from a request that is complete to the end of its reply
  Cancel cancel_;
  bool is_answered_ = false;                 ///< the request that was taken last
  std::atomic<std::int64_t> idle_since_ns_;  ///< waits for a head, or reads it
  bool is_waiting_ = true;                   ///< for the first byte of a request
  bool is_first_ = true;                     ///< no request has come yet
  bool is_watching_ = false;                 ///< a read of TLS is pending beside the answer
  bool wants_head_ = false;                  ///< once that read has ended
  bool is_last_ = false;                     ///< the connection closes after the reply
  bool is_leaving_ = false;                  ///< the next reply to begin is the last
  bool is_refused_ = false;                  ///< what came could not be read
  Reply reply_;
  bool is_chunked_ = false;  ///< the stream of the reply; a client of HTTP/1.0 reads to the end
  std::string head_;         ///< of the reply, or of a chunk
  std::string piece_;        ///< of the stream
  std::vector<asio::const_buffer> unsent_;
  std::size_t num_drained_ = 0;
};

}  // namespace sluice::http
