// Where clients of gRPC come in: their connections are accepted, counted, and served by loops.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/server/connections/loop.h"
#include "rpc/server/listen/connection_limits.h"
#include "rpc/server/listen/tcp_listener.h"
#include "rpc/wire/address.h"
#include "tls/context.h"

namespace sluice::rpc::server {

/// Safe from any thread, but for `start`, `listen`, `close` and `shutdown`.
class Door {
 public:
  /// All but `tls` outlive the door. `tls`: null for connections as they are. `max_age_ns`: as
  /// Connection's.
  Door(CallSettings settings, ConnectionLimits& limits, service::Log& log, tls::Context tls,
       std::int64_t max_age_ns = 0)
      : settings_(std::move(settings)),
        limits_(limits),
        log_(log),
        max_age_ns_(max_age_ns),
        tls_(std::move(tls)) {}
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door() { shutdown(0); }

  /// Starts the loops, before anything else. Fails: as Loop::create.
  Status start();
  /// The port. `inherited`: as TcpListener::create. Fails: as TcpListener::create.
  Result<int> listen(const wire::Address& address, InheritedFds* inherited);
  /// Serves a connection that another listener accepted and counted, without TLS. `host` and
  /// `is_trusted` as Loop::add.
  void serve(int fd, const terms::Peer& peer, const std::string& host, bool is_trusted) {
    add(make_plain_transport(fd), peer, host, is_trusted);
  }
  /// For new connections from now on. Nothing happens where TLS is not served.
  void set_tls(tls::Context tls) { tls_.set(std::move(tls)); }
  /// Adds the listening sockets, for the next process.
  void pass_on(std::string_view role, std::vector<PassedFd>& to) const;
  /// Accepts no more connections.
  void close() { listeners_.clear(); }
  /// As Loop::say_goodbye.
  void say_goodbye();
  /// Accepts no more connections and takes no more calls; ends those that are unfinished after
  /// `grace_ns`. Blocks. May be called again.
  void shutdown(std::int64_t grace_ns);

 private:
  void add(std::unique_ptr<Transport> client, const terms::Peer& peer, const std::string& host,
           bool is_trusted);
  std::unique_ptr<Transport> transport_of(int fd) const;

  const CallSettings settings_;
  ConnectionLimits& limits_;
  service::Log& log_;
  const std::int64_t max_age_ns_;
  tls::Current tls_;
  Offenders offenders_;
  std::vector<std::unique_ptr<Loop>> loops_;  ///< take turns
  std::atomic<std::size_t> turn_ = 0;
  std::vector<std::unique_ptr<TcpListener>> listeners_;  ///< last: they hand to the loops
};

/// Counts the connection, or closes it and returns false: `who`, or all peers, have too many.
bool admit(ConnectionLimits& limits, int fd, const terms::Peer& peer, const std::string& who,
           service::Log& log);

}  // namespace sluice::rpc::server
