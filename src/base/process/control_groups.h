// The control groups that limit this process.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace sluice {

/// A folder with the files of a group.
struct ControlGroup {
  std::filesystem::path folder;
  bool is_unified = false;  ///< version 2; else version 1, whose files have other names
};

/// The groups of a controller, "memory" or "cpu", that the process is in, and all groups above, as
/// far as they are mounted. `process` stands for /proc/self, and `root` for /. Format: proc(5),
/// cgroups(7).
std::vector<ControlGroup> control_groups(std::string_view controller,
                                         const std::filesystem::path& process,
                                         const std::filesystem::path& root);

}  // namespace sluice
