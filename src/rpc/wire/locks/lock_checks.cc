#include "rpc/wire/locks/lock_checks.h"

#include <absl/synchronization/mutex.h>

namespace sluice::rpc::wire {

void skip_lock_checks() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace sluice::rpc::wire
