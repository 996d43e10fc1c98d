// Who is at the other end of a connection.
#pragma once

#include <string>

#include "terms/server/server.h"

namespace sluice::service {

/// Who answers for what a peer holds: "user 1000", "token alice", or "remote" over TCP without
/// tokens.
std::string account_of(const terms::Peer& peer);

/// Whether account_of both is the same; makes no texts, for each request.
bool has_same_account(const terms::Peer& a, const terms::Peer& b);

/// Root and the daemon's own user may do everything, with everybody's models and sessions.
bool is_administrator(const terms::Peer& peer);

}  // namespace sluice::service
