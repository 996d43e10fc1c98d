#include "rpc/server/door/tcp_door.h"

#include <unistd.h>

#include <mutex>

#include "base/clock.h"
#include "service/clients/allowance.h"
#include "service/clients/refusals.h"

namespace sluice::rpc::server {
namespace {

/// Whether a refusal is worth a warning, of all doors together. Who connects over and over fills no
/// log: the other refusals are for those who debug.
bool is_news() {
  static std::mutex mutex;
  static Allowance warnings({.burst = 20, .per_second = 1}, system_clock().now_ns());
  const std::lock_guard lock(mutex);
  return warnings.take(system_clock().now_ns());
}

}  // namespace

Status TcpDoor::start_guard() {
  if (guard_ == nullptr) guard_ = SLUICE_TRY(Guard::create(hand_over_, log_, {}, relay_bytes_));
  return ok_status();
}

Result<int> TcpDoor::listen(const wire::Address& address, InheritedFds* inherited) {
  SLUICE_TRY(start_guard());
  const auto on_accept = [this](int fd, const terms::Peer& peer, const std::string& host) {
    if (admit(limits_, fd, peer, host, log_)) guard_->add(transport_of(fd), peer, host);
  };
  listeners_.push_back(
      SLUICE_TRY(TcpListener::create(address.host, address.port, on_accept, log_, inherited)));
  return listeners_.back()->port();
}

void TcpDoor::pass_on(std::string_view role, std::vector<PassedFd>& to) const {
  for (const auto& listener : listeners_) listener->pass_on(role, to);
}

std::unique_ptr<Transport> TcpDoor::transport_of(int fd) const {
  const tls::Context tls = tls_.get();
  return tls == nullptr ? make_plain_transport(fd) : make_tls_transport(fd, *tls);
}

bool admit(ConnectionLimits& limits, int fd, const terms::Peer& peer, const std::string& who,
           service::Log& log) {
  const Status admitted = limits.admit(fd, who);
  if (admitted.is_ok()) return true;
  service::count_refused_connection();
  const auto level = is_news() ? service::LogLevel::kWarning : service::LogLevel::kDebug;
  log.add(level, "connection.refused address={} reason={}", service::in_quotes(peer.address),
          service::in_quotes(admitted.message()));
  close(fd);
  return false;
}

}  // namespace sluice::rpc::server
