// Seconds that a user gives.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::options {

/// At least 1 for what is more than 0, because 0 means no limit; at most 292 years.
inline std::int64_t nanoseconds_of(double seconds) {
  if (!(seconds > 0)) return 0;
  constexpr double kMostSeconds = 9.2e9;
  const double ns = std::min(seconds, kMostSeconds) * 1e9;
  return std::max<std::int64_t>(static_cast<std::int64_t>(ns), 1);
}

}  // namespace sluice::options
