#pragma once

#include <stop_token>

#include "base/result.h"

namespace sluice::exec {

/// Fails: kCancelled once `stop` is requested.
inline Status check_not_stopped(const std::stop_token& stop) {
  return stop.stop_requested() ? Status(Code::kCancelled, "loading was cancelled") : ok_status();
}

}  // namespace sluice::exec
