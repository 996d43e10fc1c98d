#pragma once

#include <cstdint>
#include <limits>

#include "base/clock.h"

namespace sluice::topology {

/// What DeviceManager::acquire does if the requested cores exist but belong to other groups.
struct WaitPolicy {
  /// In the past: fail at once. In the future: wait until then. kNoDeadline: wait without limit.
  std::int64_t deadline_ns = kNoDeadline;

  static WaitPolicy fail() { return {std::numeric_limits<std::int64_t>::min()}; }
  static WaitPolicy until(std::int64_t deadline_ns) { return {deadline_ns}; }
  static WaitPolicy wait() { return {kNoDeadline}; }
};

}  // namespace sluice::topology
