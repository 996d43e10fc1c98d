// The system calls that a worker gives up once it is ready.
#pragma once

#include "base/result.h"

namespace sluice::worker {

/// From now on all threads can compute, start threads, use the files they have and open others for
/// reading. The rest (sockets, opening for writing, other processes, executing anything, memory to
/// execute) fails with EPERM; calls of another architecture end the process with SIGSYS. The table
/// is in the source. Requires: drop_privileges. Fails: kUnimplemented where the kernel does not
/// filter system calls.
Status filter_system_calls();

}  // namespace sluice::worker
