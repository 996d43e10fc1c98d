// Serves a Service over gRPC.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rpc/address.h"
#include "rpc/tls.h"
#include "rpc/unix_listener.h"
#include "service/service.h"

namespace sluice::rpc {

struct ServerOptions {
  std::vector<Address> addresses = {};
  /// Access of Unix sockets; its path is the address's.
  UnixSocketOptions unix_socket = {};
  /// By path: sockets that listen already; of these addresses nothing is made, and nothing removed.
  std::map<std::string, int> inherited_sockets = {};
  /// Of TCP. Without it only loopback addresses are listened on.
  TlsFiles tls = {};
  /// A client over TCP sends one of these as metadata "authorization: Bearer TOKEN"; none: any may.
  std::vector<std::string> tokens = {};
  /// Longest request or answer.
  std::int64_t message_limit_bytes = std::int64_t{1} << 30;
};

/// Listens until it is shut down. Safe from any thread.
class Server {
 public:
  /// `service` outlives the server.
  /// Fails: as UnixListener::create; kUnavailable for a port; kInvalidArgument for a TCP address
  ///        that others reach, without TLS; as read_tls.
  static Result<std::unique_ptr<Server>> start(service::Service& service,
                                               const ServerOptions& options);
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  virtual ~Server() = default;

  /// As asked for, with the ports that were given.
  virtual std::vector<std::string> addresses() const = 0;
  /// As ServerOptions::tokens, from now on.
  virtual void set_tokens(std::vector<std::string> tokens) = 0;
  /// Of new connections from now on. Nothing happens where TLS is not served.
  /// Requires: as TlsCertificates::set.
  virtual void set_certificates(TlsTexts texts) = 0;
  /// Takes no more connections; calls that go on have `grace_ns`, then they are cancelled. Sessions
  /// end. Blocks. May be called again.
  virtual void shutdown(std::int64_t grace_ns) = 0;
};

}  // namespace sluice::rpc
