// Serves a Service over gRPC.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/process/inherited_fds.h"
#include "completions/text_starter.h"
#include "repository/repository.h"
#include "rpc/server/listen/unix_listener.h"
#include "rpc/wire/address.h"
#include "service/clients/tokens.h"
#include "service/service.h"
#include "tls/context.h"

namespace sluice::rpc::server {

struct ServerOptions {
  std::vector<wire::Address> addresses = {};
  /// Access of Unix sockets; its path is the address's.
  UnixSocketOptions unix_socket = {};
  /// Has sockets that listen already; null: none. For Server::start alone.
  InheritedFds* inherited = nullptr;
  /// Files for TCP. Without them only loopback addresses are listened on, or `is_plain_allowed`.
  tls::Files certificates = {};
  /// A client over TCP sends one of these as metadata "authorization: Bearer TOKEN"; none: any may.
  std::vector<service::AccessToken> tokens = {};
  /// Longest request or answer.
  std::int64_t max_message_bytes = std::int64_t{64} << 20;
  /// Open connections: of all addresses together, and of one user or host among them.
  std::int64_t connections = 4096;
  std::int64_t connections_per_peer = 1024;
  /// A client is asked to connect anew after this time, and its calls in flight end where they are;
  /// 0: never.
  std::int64_t connection_age_ns = 0;
  /// Listens where other machines reach it without TLS, too.
  bool is_plain_allowed = false;
  /// Makes texts that clients stream; outlives the server. Null: none are made.
  completions::TextStarter* texts = nullptr;
};

/// Listens until it is shut down. Safe from any thread.
class Server {
 public:
  /// `service` and `repository` outlive the server.
  /// Fails: as UnixListener::create; kUnavailable for a port; kInvalidArgument for a TCP address
  ///        that others reach, without TLS; as tls::read_server.
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
  /// For new connections from now on. Nothing happens where TLS is not served.
  virtual void set_tls(tls::Context context) = 0;
  /// Adds the listening sockets and their locks, for the next process.
  virtual void pass_on(std::vector<PassedFd>& to) const = 0;
  /// Leaves the sockets to the process that has them too: accepts no more connections, and asks
  /// clients over TCP to send their next calls over new ones. Calls go on.
  virtual void leave() = 0;
  /// Connections that are open.
  virtual std::size_t num_connections() = 0;
  /// Accepts no more connections and cancels the calls that are unfinished after `grace_ns`.
  /// Sessions end. Blocks. May be called again.
  virtual void shutdown(std::int64_t grace_ns) = 0;
};

}  // namespace sluice::rpc::server
