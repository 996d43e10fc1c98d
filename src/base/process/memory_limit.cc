#include "base/process/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> own_limit_bytes = kNoLimit;

/// Where the limits of the memory controller are found.
struct Hierarchy {
  std::string group;       ///< the process's, "/a/b"
  std::string mount_root;  ///< the group that is mounted
  std::string mount_point;
  std::string_view limit_file;
};

std::vector<std::string> words_of(const std::string& line, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
  return words;
}

bool has_word(const std::string& list, std::string_view wanted) {
  return std::ranges::any_of(words_of(list, ','), [&](const auto& word) { return word == wanted; });
}

/// Lines of /proc/self/cgroup: "0::/a" is version 2, "4:memory:/a" the controller of version 1.
std::optional<std::string> group_of(const fs::path& process, bool is_unified) {
  std::ifstream file(process / "cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = is_unified ? controllers.empty() : has_word(controllers, "memory");
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// Lines of /proc/self/mountinfo: "36 35 98:0 ROOT POINT options optional... - TYPE source
/// OPTIONS".
std::vector<Hierarchy> hierarchies(const fs::path& process) {
  std::vector<Hierarchy> all;
  std::ifstream file(process / "mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = words_of(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const bool is_unified = dash[1] == "cgroup2";
    if (!is_unified && (dash[1] != "cgroup" || !has_word(dash[3], "memory"))) continue;
    const auto group = group_of(process, is_unified);
    if (!group) continue;
    all.push_back({*group, words[3], words[4],
                   is_unified ? std::string_view("memory.max") : "memory.limit_in_bytes"});
  }
  return all;
}

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

/// Below the mount point. A container sees its own group as the root of what is mounted.
fs::path relative_group(const Hierarchy& hierarchy) {
  std::string_view group = hierarchy.group;
  if (hierarchy.mount_root != "/" && group.starts_with(hierarchy.mount_root)) {
    group.remove_prefix(hierarchy.mount_root.size());
  }
  return fs::path(group).relative_path();
}

}  // namespace

std::int64_t least_memory_limit(std::int64_t machine_bytes, const fs::path& process,
                                const fs::path& root) {
  std::int64_t least = machine_bytes;
  for (const Hierarchy& hierarchy : hierarchies(process)) {
    const fs::path point = root / fs::path(hierarchy.mount_point).relative_path();
    for (fs::path group = relative_group(hierarchy);; group = group.parent_path()) {
      const auto limit = read_limit(point / group / hierarchy.limit_file);
      least = std::min(least, limit.value_or(least));
      if (group.empty()) break;
    }
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
