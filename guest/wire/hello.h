// What a proxy says to a guest that connects.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "shm/fd_socket.h"

namespace sluice::guest {

/// Guests that a proxy serves at once.
inline constexpr int kMaxGuests = 1024;

/// Sent with the descriptor of the shared memory.
struct Hello {
  std::uint64_t shared_bytes = 0;
};

/// Receives the hello on a connected socket; the descriptor is that of the memory. Blocks until it
/// has come. Fails: kUnavailable where the proxy closes the socket instead.
Result<shm::Fd> receive_hello(int socket, Hello& hello);

}  // namespace sluice::guest
