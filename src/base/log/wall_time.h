// The calendar's clock: dates for those who read what happened. It may jump.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

/// Nanoseconds since 1970, UTC.
std::int64_t unix_time_ns();

/// Seconds since 1970, UTC, to the millisecond.
double unix_time_s();

/// What `system_clock()` lacks now to nanoseconds since 1970.
std::int64_t wall_offset_ns();

/// "2026-11-21T15:45:26.123Z" of nanoseconds since 1970, with so many `digits` of a second, up
/// to 9.
std::string utc_text(std::int64_t unix_ns, int digits);

}  // namespace sluice
