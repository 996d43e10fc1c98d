// The guard in front of a gRPC server, and TCP in front of the guard.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/server/guard/guard.h"
#include "rpc/server/listen/connection_limits.h"
#include "rpc/server/listen/tcp_listener.h"
#include "rpc/wire/address.h"
#include "tls/context.h"

namespace sluice::rpc::server {

/// Accepts connections, counts them, and lets a guard hand what keeps the rules to gRPC. Safe from
/// any thread, but for `listen`, `start_guard`, `close` and `stop`.
class TcpDoor {
 public:
  /// `limits` and `log` outlive the door. `tls`: null for connections as they are. `relay_bytes`:
  /// as Guard::create.
  TcpDoor(Guard::HandOver hand_over, ConnectionLimits& limits, service::Log& log, tls::Context tls,
          std::size_t relay_bytes = kRelayBytes)
      : hand_over_(std::move(hand_over)),
        limits_(limits),
        log_(log),
        relay_bytes_(relay_bytes),
        tls_(std::move(tls)) {}
  TcpDoor(const TcpDoor&) = delete;
  TcpDoor& operator=(const TcpDoor&) = delete;
  ~TcpDoor() {
    close();
    stop();
  }

  /// The port. `inherited`: as TcpListener::create. Fails: as TcpListener::create and
  /// Guard::create.
  Result<int> listen(const wire::Address& address, InheritedFds* inherited);
  /// Before `guard`; `listen` does it too. Fails: as Guard::create.
  Status start_guard();
  /// Lets the guard hand on a connection that another listener accepted and counted, without TLS.
  /// `who` answers for it, as a host does for those of TCP.
  void guard(int fd, const terms::Peer& peer, const std::string& who) {
    guard_->add(make_plain_transport(fd), peer, who);
  }
  /// For new connections from now on. Nothing happens where TLS is not served.
  void set_tls(tls::Context tls) { tls_.set(std::move(tls)); }
  /// Adds the listening sockets, for the next process.
  void pass_on(std::string_view role, std::vector<PassedFd>& to) const;
  /// Accepts no more connections.
  void close() { listeners_.clear(); }
  /// As Guard::say_goodbye.
  void say_goodbye() {
    if (guard_ != nullptr) guard_->say_goodbye();
  }
  /// As Guard::stop.
  void stop() {
    if (guard_ != nullptr) guard_->stop();
  }

 private:
  std::unique_ptr<Transport> transport_of(int fd) const;

  const Guard::HandOver hand_over_;
  ConnectionLimits& limits_;
  service::Log& log_;
  const std::size_t relay_bytes_;
  tls::Current tls_;
  std::unique_ptr<Guard> guard_;
  std::vector<std::unique_ptr<TcpListener>> listeners_;  ///< last: they hand to the guard
};

/// Counts the connection, or closes it and returns false: `who`, or all peers, have too many.
bool admit(ConnectionLimits& limits, int fd, const terms::Peer& peer, const std::string& who,
           service::Log& log);

}  // namespace sluice::rpc::server
