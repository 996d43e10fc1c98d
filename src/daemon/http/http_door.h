// An address where the daemon serves HTTP.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/inherited_fds.h"
#include "http/connections/server.h"
#include "rpc/server/listen/connection_limits.h"
#include "rpc/server/listen/tcp_listener.h"
#include "rpc/server/listen/unix_listener.h"
#include "rpc/server/server.h"
#include "rpc/wire/address.h"
#include "service/prometheus/text.h"
#include "tls/context.h"

namespace sluice::daemon {

/// Listens until it is destroyed.
class HttpDoor {
 public:
  /// `serving`: the Unix socket's mode, group and users, the connections of one user or host, and
  /// inherited sockets count. `tls`: for TCP; null: none. `handler`: as http::Server::start.
  /// `log` outlives the door. Fails: as UnixListener::create and TcpListener::create.
  static Result<std::unique_ptr<HttpDoor>> start(rpc::wire::Address address,
                                                 const rpc::server::ServerOptions& serving,
                                                 const http::ServerOptions& options,
                                                 http::Handler handler, tls::Context tls,
                                                 service::Log& log);
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;
  ~HttpDoor() { shutdown(0); }

  /// The requested address, with the port that the system chose for port 0.
  const std::string& address() const { return address_; }
  /// As rpc::server::Server::set_tls. Safe from any thread.
  void set_tls(tls::Context tls) { tls_.set(std::move(tls)); }
  /// Adds the listening sockets and their locks, for the next process. `role`: what is served.
  void pass_on(std::string_view role, std::vector<PassedFd>& to) const;
  /// Leaves the sockets to the process that has them too: accepts no more connections, and closes
  /// each after its next reply.
  void leave();
  std::size_t num_connections() { return server_->num_connections(); }
  /// Accepts no more connections; then as http::Server::shutdown. Blocks.
  void shutdown(std::int64_t grace_ns);

 private:
  HttpDoor(std::size_t connections_per_peer, std::unique_ptr<http::Server> server, tls::Context tls)
      : limits_(kAnyNumber, connections_per_peer),
        tls_(std::move(tls)),
        server_(std::move(server)) {}

  /// The server bounds the number in all: it knows which connection is silent.
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

  std::string address_;
  rpc::server::ConnectionLimits limits_;
  tls::Current tls_;
  const std::unique_ptr<http::Server> server_;
  std::unique_ptr<rpc::server::TcpListener> tcp_;  ///< these two last: they hand to the server
  std::unique_ptr<rpc::server::UnixListener> unix_;
};

/// What /metrics has for a client, in the form that it wants.
using MetricsBody =
    std::function<Result<std::string>(const terms::Peer& peer, service::MetricsForm form)>;
/// A handler of /metrics, for GET. `body` is called from several threads at a time; its error
/// becomes 403.
http::Handler metrics_handler(MetricsBody body);

}  // namespace sluice::daemon
