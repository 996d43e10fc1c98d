// One connection, with TLS or without, of HTTP/1.1 or HTTP/2.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "http/connections/protocol.h"
#include "http/connections/server.h"
#include "tls/byte_stream.h"

namespace sluice::http {

namespace asio = boost::asio;
namespace beast = boost::beast;

/// Limit of a request's head.
inline constexpr std::uint32_t kMaxHeadBytes = 16 << 10;
/// Limit of one read.
inline constexpr std::size_t kReadBytes = 16 << 10;
/// Limit of the first read, which holds the whole of a small request.
inline constexpr std::size_t kFirstReadBytes = 4 << 10;
/// A connection that ends still reads for so long, and so much, what its client sends.
inline constexpr std::int64_t kDrainNs = 2'000'000'000;
inline constexpr std::size_t kMaxDrainedBytes = 1 << 20;

/// What the connections of a server share.
struct Shared {
  ServerOptions options;
  Handler handler;
  std::shared_ptr<ByteBudget> bodies;
  /// Threads that outlive the server bring answers, and post them until it is over.
  std::mutex mutex;
  bool is_over = false;
};

/// All but the constructor and what says otherwise runs on the connection's strand.
///
///     looking --TLS--> shaking hands --> HTTP/2 if both agreed on it (ALPN), otherwise HTTP/1.1
///        |
///        +--no TLS--> HTTP/2 if its preface comes, otherwise HTTP/1.1
///
/// The first bytes say whether the client begins TLS. One that speaks otherwise than the port gets
/// an error in plain HTTP/1.1.
///
/// Draining: closing a socket with unread bytes sends a reset, and the client may lose the reply;
/// so what it still sends is read for a short time.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `io` runs the connection. `tls`: null for a connection without TLS.
  Connection(std::shared_ptr<Shared> shared, asio::io_context& io, int fd, int family,
             terms::Peer peer, tls::Context tls);

  // For the server.

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

  // For its protocol.

  const std::shared_ptr<Shared>& shared() const { return shared_; }
  tls::ByteStream& stream() { return stream_; }
  beast::flat_buffer& buffer() { return buffer_; }  ///< what has been read and not used
  const terms::Peer& peer() const { return peer_; }
  bool is_open() { return stream_.socket().is_open(); }
  void set_idle_since(std::int64_t since_ns) { idle_since_ns_ = since_ns; }
  /// Has the request computed. An exception becomes an answer, so `answer` may be called twice.
  Cancel compute(Request request, const Answer& answer);
  /// Ends TLS and the writing, reads what still comes for a short time, and closes. No read or
  /// write is pending.
  void drain();
  void close();

 private:
  using Socket = tls::ByteStream::Socket;

  void look();
  void take_first_bytes(beast::error_code error, bool is_tls);
  void take_handshake(beast::error_code error, std::size_t num_used);
  void look_for_preface();
  void speak(std::unique_ptr<Protocol> protocol);
  void end_writing();
  void read_rest();

  const std::shared_ptr<Shared> shared_;
  tls::ByteStream stream_;
  const tls::Context tls_;  ///< null: none
  terms::Peer peer_;
  beast::flat_buffer buffer_;
  std::atomic<std::int64_t> idle_since_ns_;
  bool is_leaving_ = false;  ///< said goodbye before there was a protocol
  std::size_t num_drained_ = 0;
  std::unique_ptr<Protocol> protocol_;  ///< null until the first bytes say which
};

/// Runs `work` on the strand of the connection of `weak`, a protocol that has `connection()`. From
/// any thread; nothing happens if the connection has gone.
template <typename Spoken, typename Work>
void post(const std::weak_ptr<Spoken>& weak, Shared& shared, Work work) {
  const std::lock_guard lock(shared.mutex);
  if (shared.is_over) return;
  const std::shared_ptr<Spoken> self = weak.lock();
  if (self == nullptr) return;
  asio::post(self->connection().stream().get_executor(),
             [self, work = std::move(work)]() mutable { work(*self); });
}

}  // namespace sluice::http
