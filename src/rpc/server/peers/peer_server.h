// Serves tensors of the exchange to daemons of other hosts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/process/inherited_fds.h"
#include "rpc/wire/address.h"
#include "service/clients/tokens.h"
#include "service/service.h"
#include "tls/context.h"

namespace sluice::rpc::server {

struct PeerServerOptions {
  wire::Address address = {};  ///< over TCP
  /// The daemon's own certificate, and the authority of those of its peers; empty: no TLS.
  tls::Files certificates = {};
  /// Peers may send one of these as metadata "authorization: Bearer TOKEN".
  std::vector<service::AccessToken> tokens = {};
  /// Open connections: of all peers together, and of one host among them.
  std::int64_t connections = 4096;
  std::int64_t connections_per_peer = 1024;
  /// As ServerOptions::inherited.
  InheritedFds* inherited = nullptr;
};

/// Listens until it is shut down. It serves the call FetchTensor alone, to whoever has the role
/// kFetch. Safe from any thread.
class PeerServer {
 public:
  /// `service` outlives the server.
  /// Fails: kUnavailable for a port; as tls::read_server.
  static Result<std::unique_ptr<PeerServer>> start(service::Service& service,
                                                   const PeerServerOptions& options);
  PeerServer() = default;
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;
  virtual ~PeerServer() = default;

  /// The requested address with the assigned port.
  virtual std::string address() const = 0;
  /// From now on.
  virtual void set_tokens(std::vector<service::AccessToken> tokens) = 0;
  /// For new connections from now on. Nothing happens where TLS is not served.
  virtual void set_tls(tls::Context context) = 0;
  /// As Server::pass_on.
  virtual void pass_on(std::vector<PassedFd>& to) const = 0;
  /// As Server::leave.
  virtual void leave() = 0;
  /// Ends all calls and connections. Blocks. May be called again.
  virtual void shutdown() = 0;
};

}  // namespace sluice::rpc::server
