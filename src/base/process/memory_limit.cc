#include "base/process/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "base/process/control_groups.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> own_limit_bytes = kNoLimit;

/// Returns nullopt for the word "max" and for a missing file.
std::optional<std::int64_t> read_limit(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), bytes);
  if (error != std::errc() || end == line.data() || bytes < 0) return std::nullopt;
  return bytes;
}

}  // namespace

std::int64_t least_memory_limit(std::int64_t machine_bytes, const fs::path& process,
                                const fs::path& root) {
  std::int64_t least = machine_bytes;
  for (const ControlGroup& group : control_groups("memory", process, root)) {
    const auto limit =
        read_limit(group.folder / (group.is_unified ? "memory.max" : "memory.limit_in_bytes"));
    least = std::min(least, limit.value_or(least));
  }
  return least;
}

void limit_usable_memory(std::int64_t bytes) { own_limit_bytes = bytes > 0 ? bytes : kNoLimit; }

std::int64_t usable_memory_bytes() {
  static const std::int64_t kBytes = [] {
    const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
    const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
    const std::int64_t machine = pages > 0 && page_bytes > 0 ? pages * page_bytes : kNoLimit;
    return least_memory_limit(machine, "/proc/self", "/");
  }();
  return std::min(kBytes, own_limit_bytes.load());
}

}  // namespace sluice
