// Logs of the daemon: console and syslog.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <vector>

#include "service/log.h"

namespace sluice::daemon {

/// The least important events that are written; may change at any time. Outlives the logs.
using LogThreshold = std::atomic<service::LogLevel>;

/// A line per event on `fd`: time (UTC), level, event. Where that is the journal, the level is told
/// in its way instead, and the time left to it. A pipe that nobody empties costs lines, which are
/// counted, and never stops the caller.
std::unique_ptr<service::Log> console_log(const LogThreshold& most, int fd = STDERR_FILENO);

/// Facility daemon.
std::unique_ptr<service::Log> system_log(const LogThreshold& most);

/// Writes to all of them.
std::unique_ptr<service::Log> join_logs(std::vector<std::unique_ptr<service::Log>> logs);

}  // namespace sluice::daemon
