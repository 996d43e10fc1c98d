#pragma once

#include <time.h>

#include <cstdint>

namespace sluice::cpu {

/// Nanoseconds of a clock since its beginning.
inline std::int64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time = {};
  clock_gettime(clock, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

}  // namespace sluice::cpu
