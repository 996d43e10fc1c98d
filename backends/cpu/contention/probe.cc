#include "contention/probe.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace sluice::cpu {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr int kFields = 8;
constexpr int kIdle = 3;
constexpr int kIoWait = 4;

/// The rest of the line that begins with `name` and a space; empty if there is no such line.
std::string_view find_line(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) {
      return line.substr(name.size() + 1);
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

/// Busy ticks in one processor's line. Nullopt if the line does not hold kFields numbers.
std::optional<std::int64_t> sum_of_busy(std::string_view numbers) {
  std::int64_t sum = 0;
  for (int field = 0; field < kFields; ++field) {
    std::int64_t ticks = 0;
    const auto [end, error] =
        std::from_chars(numbers.data(), numbers.data() + numbers.size(), ticks);
    if (error != std::errc()) return std::nullopt;
    if (field != kIdle && field != kIoWait) sum += ticks;
    numbers.remove_prefix(static_cast<std::size_t>(end - numbers.data()));
    if (numbers.starts_with(' ')) numbers.remove_prefix(1);
  }
  return sum;
}

}  // namespace

std::optional<std::int64_t> parse_busy_ns(std::string_view stat, std::span<const int> cpus,
                                          std::int64_t ns_per_tick) {
  std::int64_t ticks = 0;
  for (const int cpu : cpus) {
    const auto busy = sum_of_busy(find_line(stat, "cpu" + std::to_string(cpu)));
    if (!busy) return std::nullopt;
    ticks += *busy;
  }
  return ticks * ns_per_tick;
}

std::optional<std::int64_t> read_busy_ns(std::span<const int> cpus) {
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_busy_ns(text.str(), cpus, kNsPerSecond / ::sysconf(_SC_CLK_TCK));
}

}  // namespace sluice::cpu
