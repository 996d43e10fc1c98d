// Where threads run.
#pragma once

#include <functional>
#include <thread>

namespace sluice {

/// Starts a thread for `work` on the processors that the caller may use but for the one it is on.
/// The system often starts a thread on its maker's although others are idle; then each waits for
/// the other's turn, milliseconds at a time. Where there is no other, or the system refuses, it
/// runs where the caller may. The caller's own processors stay as they are. `work` must not throw,
/// and lives as long as the thread. Throws std::system_error when a thread cannot be started.
std::jthread start_elsewhere(std::function<void()> work);

}  // namespace sluice
