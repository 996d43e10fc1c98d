#include "sluice/cli/figures.h"

#include <fmt/ranges.h>

#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/plural.h"

namespace sluice::tool {

std::string describe_count(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string describe_count(std::int64_t count, std::string_view noun) {
  return describe_count(count) + ' ' + plural(count == 1, noun);
}

std::string three_digits(double value) {
  constexpr double kWhole = 100;  // from here on the digits before the point are enough
  return value >= kWhole ? describe_count(std::llround(value)) : fmt::format("{:.3g}", value);
}

std::string describe_duration(std::int64_t duration_ns) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  auto amount = static_cast<double>(duration_ns);
  std::size_t unit = 0;
  while (amount >= 1000 && unit + 1 < std::size(kUnits)) {
    amount /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(amount), kUnits[unit]);
}

std::string describe_age(std::int64_t age_ns) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  std::int64_t seconds = age_ns / kNsPerSecond;
  std::string text;
  int num_units = 0;
  for (const auto& [size, unit] : kUnits) {
    if (num_units == 0 && seconds < size && size > 1) continue;
    if (num_units == 2) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", seconds / size, unit);
    seconds %= size;
    ++num_units;
  }
  return text;
}

std::string describe_share(double share) {
  constexpr double kPercent = 100;
  return fmt::format("{} %", std::lround(share * kPercent));
}

std::string describe_sensors(const terms::Sensors& sensors) {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<double>& value, const char* unit) {
    if (value) parts.push_back(fmt::format("{} {}", std::lround(*value), unit));
  };
  add(sensors.temperature_c, "°C");
  add(sensors.power_w, "W");
  if (const auto count = sensors.num_corrected_errors.value_or(0); count > 0) {
    parts.push_back(describe_count(count, "memory error") + " corrected");
  }
  if (const auto count = sensors.num_uncorrected_errors.value_or(0); count > 0) {
    parts.push_back(describe_count(count) + " not corrected");
  }
  if (const auto count = sensors.num_throttles.value_or(0); count > 0) {
    parts.push_back("slowed down " + describe_count(count, "time"));
  }
  if (!sensors.fault.empty()) parts.push_back(sensors.fault);
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace sluice::tool
