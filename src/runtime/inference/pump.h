// Steps a machine on the calling thread.
#pragma once

#include "runtime/inference/driver.h"

namespace sluice::runtime {

/// Number of polls of a running stage before a thread sleeps between two polls, and the longest
/// sleep: a long stage must not occupy a processor, and its end is noticed at most this late.
inline constexpr int kBusyLooks = 2000;
inline constexpr std::int64_t kBusyNapNs = 20'000;

/// Steps until `is_stop`, the deadline, or no work; returns the last result. `after_step` gets each
/// one. Requires: as Steppable::step.
template <typename IsStop, typename AfterStep>
StepResult pump(Steppable& machine, Clock& clock, const IsStop& is_stop, std::int64_t deadline_ns,
                const AfterStep& after_step) {
  StepResult result;
  int looks = 0;
  do {
    const std::int64_t now_ns = clock.now_ns();
    result = machine.step(now_ns);
    after_step(result);
    looks = result.has_moved ? 0 : looks + 1;
    if (is_stop() || now_ns >= deadline_ns) break;
  } while (result.has_moved || (result.is_running && looks < kBusyLooks));
  return result;
}

}  // namespace sluice::runtime
