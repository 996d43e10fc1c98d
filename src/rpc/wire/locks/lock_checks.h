// The locks of gRPC.
#pragma once

namespace sluice::rpc::wire {

/// Debian builds Abseil with its search for lock cycles, which takes a lock of the whole process at
/// each mutex that gRPC locks. From now on it is off. For the `main` of a program that speaks gRPC;
/// a library leaves it to its program. Any thread.
void skip_lock_checks();

}  // namespace sluice::rpc::wire
