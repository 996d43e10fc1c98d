#include "base/process/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "base/process/control_groups.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::optional<double> read_number(std::istream& file) {
  double number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

/// Cores' worth of time; nullopt without a quota: the word "max", -1, or no file.
std::optional<double> quota_of(const ControlGroup& group) {
  std::ifstream quota(group.folder / (group.is_unified ? "cpu.max" : "cpu.cfs_quota_us"));
  const auto time = read_number(quota);
  std::ifstream other(group.folder / "cpu.cfs_period_us");
  const auto period = read_number(group.is_unified ? static_cast<std::istream&>(quota) : other);
  if (!time || !period || *time <= 0 || *period <= 0) return std::nullopt;
  return *time / *period;
}

}  // namespace

std::int32_t cores_within_quota(std::int32_t num_cores, const fs::path& process,
                                const fs::path& root) {
  double least = num_cores;
  for (const ControlGroup& group : control_groups("cpu", process, root)) {
    least = std::min(least, quota_of(group).value_or(least));
  }
  const auto whole = static_cast<std::int32_t>(least);
  return std::max(1, whole < least ? whole + 1 : whole);
}

std::int32_t cores_within_quota(std::int32_t num_cores) {
  static const std::int32_t kMost =
      cores_within_quota(std::numeric_limits<std::int32_t>::max() - 1, "/proc/self", "/");
  return std::max(1, std::min(num_cores, kMost));
}

}  // namespace sluice
