#include "dispatch/request_quota.h"

#include "base/text/plural.h"
#include "terms/runtime_code.h"

namespace sluice::dispatch {

Status RequestQuota::enter() {
  const std::lock_guard lock(mutex_);
  // Under the lock: after close() returns, no request has entered unseen.
  SLUICE_TRY(Status(closed_));
  if (num_in_flight_ >= max_in_flight_) {
    return terms::runtime_error(RuntimeCode::kQueueFull,
                                "a session may have {} in flight; wait for an answer",
                                counted(max_in_flight_, "request"));
  }
  ++num_in_flight_;
  return ok_status();
}

void RequestQuota::leave() {
  const std::lock_guard lock(mutex_);
  --num_in_flight_;
}

void RequestQuota::close(const Status& reason) {
  const std::lock_guard lock(mutex_);
  closed_ = reason;
}

std::int64_t RequestQuota::num_in_flight() const {
  const std::lock_guard lock(mutex_);
  return num_in_flight_;
}

}  // namespace sluice::dispatch
