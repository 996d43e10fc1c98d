// Serves HTTP/1.1 on connections that others accept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "http/call.h"
#include "tls/context.h"

namespace sluice::http {

struct ServerOptions {
  int num_threads = 2;  ///< at least 1; each connection stays with one of them
  /// A new connection beyond them takes the place of the one that has been without a request for
  /// the longest; if all have requests, it is closed.
  std::size_t max_connections = 4096;
  /// Limit of one body.
  std::int64_t max_body_bytes = std::int64_t{64} << 20;
  /// Limit of all bodies at a time.
  std::int64_t all_body_bytes = std::int64_t{256} << 20;
  /// For the head of a request, from its first byte or from the end of the one before. The
  /// connection of a client that takes longer ends.
  std::int64_t head_ns = 30'000'000'000;
  /// For the handshake of TLS, from the beginning of the connection.
  std::int64_t handshake_ns = 10'000'000'000;
  /// The connection of a client that neither sends nor reads for so long within a request or a
  /// reply ends.
  std::int64_t idle_ns = 30'000'000'000;
};

/// Answers the requests of one connection in their order, and those of several connections at once.
/// Keeps connections open, as HTTP/1.1 has it. Safe from any thread.
class Server {
 public:
  /// `handler` may be called until `shutdown` returns. Fails: as start_thread.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Handler handler);
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  virtual ~Server() = default;

  /// Serves a connected, non-blocking socket, and closes it in the end. `tls`: null for one without
  /// TLS.
  virtual void add(int fd, const terms::Peer& peer, tls::Context tls) = 0;
  /// Closes each connection after its next reply, which says so. Blocks not.
  virtual void say_goodbye() = 0;
  /// Connections that are open.
  virtual std::size_t num_connections() = 0;
  /// Closes connections between two requests at once and the others after their reply, at the
  /// latest after `grace_ns`. Answers that come later are dropped. Blocks. May be called again.
  virtual void shutdown(std::int64_t grace_ns) = 0;
};

}  // namespace sluice::http
