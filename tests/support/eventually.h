// How tests wait. A test never judges how long something took: it waits for a condition, and only a
// failure reaches the limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace sluice::testing {

/// A hang: a machine that stands still for seconds at a time, or that runs sanitizers beside other
/// builds, is far from it.
inline constexpr std::chrono::seconds kHang{300};

/// Looks until `is_so()` returns true; false after `limit`. Looks often at first and then every few
/// milliseconds, so that the program waited for gets the processor.
[[nodiscard]] bool eventually(const std::function<bool()>& is_so,
                              std::chrono::seconds limit = kHang);

/// A point of time of `system_clock()` so far from now, for deadlines of requests.
std::int64_t from_now_ns(std::chrono::nanoseconds time);

/// Returns once `system_clock()` has passed `time_ns`: a deadline passes without an event.
void let_pass(std::int64_t time_ns);

/// Lets other threads and processes work for a moment, so that a test meets them at another point.
/// A claim must not depend on their progress.
void pause_for(std::chrono::nanoseconds time);

}  // namespace sluice::testing
