// Who is at the other end of a connection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/clients/roles.h"

namespace sluice::service {

/// The other end of a connection. -1 where the transport does not tell.
struct Peer {
  std::string address;
  std::int64_t process = -1;
  std::int64_t user = -1;
  std::int64_t group = -1;
  std::vector<std::int64_t> more_groups = {};  ///< that the user is in besides
  std::string token = {};  ///< name of the token that the call brought; empty: none
  Roles token_roles = {};  ///< of that token
  /// Common name of the certificate with which another daemon proved who it is; empty: none.
  std::string certificate = {};

  bool is_local() const { return user >= 0; }
};

/// Who answers for what a peer holds: "user 1000", "token alice", or "remote" over TCP without
/// tokens.
std::string account_of(const Peer& peer);

/// Root and the daemon's own user may do everything, with everybody's models and sessions.
bool is_administrator(const Peer& peer);

}  // namespace sluice::service
