// What a worker process does: an engine of one core group, asked over a socket and a ring.
#pragma once

namespace sluice::worker {

/// Serves until the other end of `socket` is closed. The exit code.
int serve(int socket);

}  // namespace sluice::worker
