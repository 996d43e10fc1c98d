// TCP sockets that accept connections and say from where they come.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/inherited_fds.h"
#include "rpc/server/listen/acceptor.h"
#include "terms/server/server.h"

namespace sluice::rpc::server {

/// The port that a bound TCP socket has.
int port_of(int fd);

/// Listens until it is destroyed.
class TcpListener {
 public:
  /// Takes a connected, non-blocking file descriptor. `host` is the peer's address without a port.
  using OnAccept = std::function<void(int fd, const terms::Peer& peer, const std::string& host)>;

  /// Listens on all addresses of `host`; `port` 0 takes a free one. Sockets of `inherited` that
  /// listen there are taken; null: there are none. `log` outlives the listener.
  /// Fails: kUnavailable for a port that is taken or a host without addresses.
  static Result<std::unique_ptr<TcpListener>> create(const std::string& host, int port,
                                                     OnAccept on_accept, service::Log& log,
                                                     InheritedFds* inherited = nullptr);
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;
  ~TcpListener();

  int port() const { return port_; }
  /// Adds the listening sockets, for the next process. `role`: what they serve.
  void pass_on(std::string_view role, std::vector<PassedFd>& to) const;

 private:
  TcpListener() = default;

  std::vector<InheritedFds::Claimed> sockets_;
  int port_ = 0;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace sluice::rpc::server
