#include "base/process/control_groups.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// Where the groups of a controller are found.
struct Hierarchy {
  std::string group;       ///< the process's, "/a/b"
  std::string mount_root;  ///< the group that is mounted
  std::string mount_point;
  bool is_unified = false;
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
std::optional<std::string> group_of(const fs::path& process, std::string_view controller,
                                    bool is_unified) {
  std::ifstream file(process / "cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = is_unified ? controllers.empty() : has_word(controllers, controller);
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// Lines of /proc/self/mountinfo: "36 35 98:0 ROOT POINT options optional... - TYPE source
/// OPTIONS".
std::vector<Hierarchy> hierarchies(std::string_view controller, const fs::path& process) {
  std::vector<Hierarchy> all;
  std::ifstream file(process / "mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = words_of(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const bool is_unified = dash[1] == "cgroup2";
    if (!is_unified && (dash[1] != "cgroup" || !has_word(dash[3], controller))) continue;
    const auto group = group_of(process, controller, is_unified);
    if (group) all.push_back({*group, words[3], words[4], is_unified});
  }
  return all;
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

std::vector<ControlGroup> control_groups(std::string_view controller, const fs::path& process,
                                         const fs::path& root) {
  std::vector<ControlGroup> all;
  for (const Hierarchy& hierarchy : hierarchies(controller, process)) {
    const fs::path point = root / fs::path(hierarchy.mount_point).relative_path();
    for (fs::path group = relative_group(hierarchy);; group = group.parent_path()) {
      all.push_back({point / group, hierarchy.is_unified});
      if (group.empty()) break;
    }
  }
  return all;
}

}  // namespace sluice
