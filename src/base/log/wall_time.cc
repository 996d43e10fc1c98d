#include "base/log/wall_time.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "base/clock.h"

namespace sluice {

std::int64_t unix_time_ns() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(since).count();
}

double unix_time_s() {
  const std::int64_t whole_ms = unix_time_ns() / 1'000'000;
  return static_cast<double>(whole_ms) / 1e3;
}

std::int64_t wall_offset_ns() { return unix_time_ns() - system_clock().now_ns(); }

std::string utc_text(std::int64_t unix_ns, int digits) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const std::time_t seconds = unix_ns / kNsPerSecond;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  const std::string fraction = fmt::format("{:09}", unix_ns % kNsPerSecond);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:.{}}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     fraction, digits);
}

}  // namespace sluice
