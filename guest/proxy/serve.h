// Takes the guests that connect, and serves each on a thread of its own.
#pragma once

#include "guest/proxy/guest.h"
#include "shm/fd_socket.h"

namespace sluice::guest {

/// Serves one guest until it closes its socket or breaks the ring, or the host has no memory left
/// for it; then gives back what it held. Blocks.
void serve_guest(SharedDevice& device, const GuestLimits& limits, const shm::Fd& socket);

/// Accepts guests on a listening socket, until a guest comes and the device is lost: that one is
/// left to another process, which may take the socket as soon as this returns, with the last guest
/// gone. A guest beyond the limit, kMaxGuests, finds its socket closed. `device` is used until the
/// process ends. Fails: kUnavailable where the socket is broken.
Status accept_guests(SharedDevice& device, const GuestLimits& limits, const shm::Fd& listening);

}  // namespace sluice::guest
