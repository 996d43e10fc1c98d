// An address where balancers ask a daemon for its weight.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/process/inherited_fds.h"
#include "rpc/server/listen/tcp_listener.h"
#include "rpc/wire/address.h"
#include "service/log.h"

namespace sluice::daemon {

/// Writes a line to whoever connects, and closes the connection; reads no request. Listens until it
/// is destroyed.
class AgentDoor {
 public:
  /// `line` is called for each connection, on one thread, and does not block; it returns a line of
  /// less than 4 KiB. `log` outlives the door. Requires: a TCP address; other machines may reach
  /// it, as the line is no secret. `inherited`: as TcpListener::create. Fails: as it.
  static Result<std::unique_ptr<AgentDoor>> start(rpc::wire::Address address,
                                                  std::function<std::string()> line,
                                                  service::Log& log,
                                                  InheritedFds* inherited = nullptr);

  /// The requested address, with the port that the system chose for port 0.
  const std::string& address() const { return address_; }
  /// Adds the listening sockets, for the next process.
  void pass_on(std::vector<PassedFd>& to) const { listener_->pass_on("agent_check", to); }

 private:
  AgentDoor() = default;

  std::string address_;
  std::unique_ptr<rpc::server::TcpListener> listener_;
};

}  // namespace sluice::daemon
