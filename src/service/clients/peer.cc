#include "service/clients/peer.h"

#include <fmt/format.h>
#include <unistd.h>

namespace sluice::service {

std::string account_of(const terms::Peer& peer) {
  if (peer.is_local()) return fmt::format("user {}", peer.user);
  return peer.token.empty() ? "remote" : fmt::format("token {}", peer.token);
}

bool has_same_account(const terms::Peer& a, const terms::Peer& b) {
  if (a.is_local() || b.is_local()) return a.user == b.user;
  return a.token == b.token;
}

bool is_administrator(const terms::Peer& peer) {
  static const auto own_user = static_cast<std::int64_t>(geteuid());  // no system call per request
  return peer.user == 0 || (peer.is_local() && peer.user == own_user);
}

}  // namespace sluice::service
