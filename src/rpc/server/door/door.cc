#include "rpc/server/door/door.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "service/clients/allowance.h"
#include "service/clients/refusals.h"

namespace sluice::rpc::server {
namespace {

constexpr unsigned kMostLoops = 4;

/// Whether a refusal is worth a warning, of all doors together. Who connects over and over fills no
/// log: the other refusals are for those who debug.
bool is_news() {
  static std::mutex mutex;
  static Allowance warnings({.burst = 20, .per_second = 1}, system_clock().now_ns());
  const std::lock_guard lock(mutex);
  return warnings.take(system_clock().now_ns());
}

}  // namespace

Status Door::start() {
  const unsigned num_loops = std::clamp(std::thread::hardware_concurrency() / 2, 1U, kMostLoops);
  for (unsigned i = 0; i < num_loops; ++i) {
    loops_.push_back(SLUICE_TRY(Loop::create(settings_, offenders_, log_, max_age_ns_)));
  }
  return ok_status();
}

Result<int> Door::listen(const wire::Address& address, InheritedFds* inherited) {
  const auto on_accept = [this](int fd, const terms::Peer& peer, const std::string& host) {
    if (admit(limits_, fd, peer, host, log_)) add(transport_of(fd), peer, host, false);
  };
  listeners_.push_back(
      SLUICE_TRY(TcpListener::create(address.host, address.port, on_accept, log_, inherited)));
  return listeners_.back()->port();
}

void Door::add(std::unique_ptr<Transport> client, const terms::Peer& peer, const std::string& host,
               bool is_trusted) {
  loops_[turn_.fetch_add(1) % loops_.size()]->add(std::move(client), peer, host, is_trusted);
}

void Door::pass_on(std::string_view role, std::vector<PassedFd>& to) const {
  for (const auto& listener : listeners_) listener->pass_on(role, to);
}

std::unique_ptr<Transport> Door::transport_of(int fd) const {
  const tls::Context tls = tls_.get();
  return tls == nullptr ? make_plain_transport(fd) : make_tls_transport(fd, *tls);
}

void Door::say_goodbye() {
  for (const auto& loop : loops_) loop->say_goodbye();
}

void Door::shutdown(std::int64_t grace_ns) {
  close();
  const std::int64_t end_ns = deadline_after(system_clock(), grace_ns);
  for (const auto& loop : loops_) loop->finish();
  for (const auto& loop : loops_) loop->wait_for_calls(end_ns);
  for (const auto& loop : loops_) loop->stop();
  loops_.clear();
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
