#include "daemon/balance/agent_door.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace sluice::daemon {
namespace {

/// The line fits in the empty buffer of a new connection, so nothing waits for the peer. A peer
/// that has sent something (`agent-send`) would get a reset instead of the line if it were left
/// unread.
void answer_and_close(int fd, const std::string& line) {
  (void)send(fd, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(fd, SHUT_WR);
  std::array<char, 4096> unread = {};
  (void)recv(fd, unread.data(), unread.size(), MSG_DONTWAIT);
  close(fd);
}

}  // namespace

Result<std::unique_ptr<AgentDoor>> AgentDoor::start(rpc::wire::Address address,
                                                    std::function<std::string()> line,
                                                    service::Log& log, InheritedFds* inherited) {
  std::unique_ptr<AgentDoor> door(new AgentDoor);
  const auto on_accept = [line = std::move(line)](int fd, const terms::Peer& /*peer*/,
                                                  const std::string& /*host*/) {
    answer_and_close(fd, line());
  };
  door->listener_ = SLUICE_TRY(
      rpc::server::TcpListener::create(address.host, address.port, on_accept, log, inherited));
  address.port = door->listener_->port();
  door->address_ = address.to_string();
  return door;
}

}  // namespace sluice::daemon
