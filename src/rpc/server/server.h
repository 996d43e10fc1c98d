// Serves a Service over gRPC.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "repository/repository.h"
#include "rpc/server/listen/tls.h"
#include "rpc/server/listen/unix_listener.h"
#include "rpc/wire/address.h"
#include "service/clients/tokens.h"
#include "service/service.h"

namespace sluice::rpc::server {

struct ServerOptions {
  std::vector<wire::Address> addresses = {};
  /// Access of Unix sockets; its path is the address's.
  UnixSocketOptions unix_socket = {};
  /// By path: sockets that listen already. The server neither creates nor removes their files.
  std::map<std::string, int> inherited_sockets = {};
  /// Of TCP. Without it only loopback addresses are listened on.
  TlsFiles tls = {};
  /// A client over TCP sends one of these as metadata "authorization: Bearer TOKEN"; none: any may.
  std::vector<service::AccessToken> tokens = {};
  /// Longest request or answer.
  std::int64_t max_message_bytes = std::int64_t{64} << 20;
  /// Open connections: of all addresses together, and of one user or host among them.
  std::int64_t connections = 4096;
  std::int64_t connections_per_peer = 1024;
};

/// Listens until it is shut down. Safe from any thread.
class Server {
 public:
  /// `service` and `repository` outlive the server.
  /// Fails: as UnixListener::create; kUnavailable for a port; kInvalidArgument for a TCP address
  ///        that others reach, without TLS; as read_tls.
  static Result<std::unique_ptr<Server>> start(service::Service& service,
                                               repository::Repository& repository,
                                               const ServerOptions& options);
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  virtual ~Server() = default;

  /// The requested addresses with the assigned ports.
  virtual std::vector<std::string> addresses() const = 0;
  /// As ServerOptions::tokens, from now on.
  virtual void set_tokens(std::vector<service::AccessToken> tokens) = 0;
  /// Of new connections from now on. Nothing happens where TLS is not served.
  virtual void set_tls(TlsContext context) = 0;
  /// grpc.health.v1 says from now on that nothing is served.
  virtual void start_draining() = 0;
  /// Accepts no more connections and cancels the calls that are unfinished after `grace_ns`.
  /// Sessions end. Blocks. May be called again.
  virtual void shutdown(std::int64_t grace_ns) = 0;
};

}  // namespace sluice::rpc::server
