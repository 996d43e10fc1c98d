// The processors' time that this process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice {

/// How many of `num_cores` cores are worth a thread each: the quota of the control groups that the
/// process is in, those above too, rounded up, and at least 1. More threads would use the quota up
/// and then stand still together. Quotas: cpu.max of version 2, cpu.cfs_quota_us of version 1. Read
/// once. Safe from any thread.
std::int32_t cores_within_quota(std::int32_t num_cores);

/// The same of files elsewhere: as `control_groups`.
std::int32_t cores_within_quota(std::int32_t num_cores, const std::filesystem::path& process,
                                const std::filesystem::path& root);

}  // namespace sluice
