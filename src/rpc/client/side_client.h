// Handing memory to a daemon through its side socket.
#pragma once

#include <cstdint>
#include <string>

#include "rpc/wire/side_messages.h"
#include "shm/fd_socket.h"

namespace sluice::rpc::client {

struct Handed {
  std::uint64_t region = 0;
  shm::Fd socket;  ///< of a ring: it ends with this connection, and the other way round
};

/// Blocks. Fails: kUnavailable if nobody answers; what the daemon answers.
Result<Handed> hand_over(const std::string& side_socket, const std::string& token,
                         wire::SideKind kind, int fd, std::uint64_t size_bytes);

}  // namespace sluice::rpc::client
