// What a worker gives up once it is ready: privileges, and system calls.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace sluice::worker {

/// Becomes this user, in this group alone, without capabilities; nothing it might execute has more.
/// -1 for both: stays who it is, still without capabilities. All threads.
/// Fails: kPermissionDenied.
Status drop_privileges(std::int64_t user, std::int64_t group);

/// From now on all threads can compute, start threads, use the files they have and open others for
/// reading. The rest (sockets, opening for writing, other processes, executing anything, memory to
/// execute) fails with EPERM; calls of another architecture end the process with SIGSYS. The table
/// is in the source. Requires: drop_privileges. Fails: kUnimplemented where the kernel does not
/// filter system calls.
Status filter_system_calls();

}  // namespace sluice::worker
