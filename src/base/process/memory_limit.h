// The memory that this process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice {

/// The machine's memory, or the least limit of the control groups that the process is in: those of
/// version 1 (memory.limit_in_bytes) and 2 (memory.max), and of all groups above. A process that
/// passes it is killed by the kernel. Read once. Safe from any thread.
std::int64_t usable_memory_bytes();

/// At most so many from now on; 0: no limit but those. Called before anybody asks, since callers
/// keep what they were told.
void limit_usable_memory(std::int64_t bytes);

/// The same of files elsewhere: `process` stands for /proc/self, and `root` for /. Groups without a
/// limit, and files that are not there, do not count. Format: proc(5), cgroups(7).
std::int64_t least_memory_limit(std::int64_t machine_bytes, const std::filesystem::path& process,
                                const std::filesystem::path& root);

}  // namespace sluice
