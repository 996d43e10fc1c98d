// Placement of threads on processors.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <thread>

namespace sluice {

/// Starts a thread for `work` on the caller's allowed processors, except the one that the caller
/// runs on. The scheduler often starts a thread on its creator's processor even if others are idle;
/// the two then alternate in time slices of milliseconds. Without another processor, or if the
/// system refuses, the thread gets the caller's affinity. The caller's affinity does not change.
/// `work` must not throw, and lives as long as the thread. Throws std::system_error when a thread
/// cannot be started.
std::jthread start_elsewhere(std::function<void()> work);

/// Restricts the calling thread to these processors, by the system's numbers; none: no effect. Best
/// effort: a processor may be offline.
void stay_on(std::span<const std::int32_t> cpus);

}  // namespace sluice
