// Logs of the daemon: console and syslog.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "service/log.h"

namespace sluice::daemon {

/// The least important events that are written; may change at any time. Outlives the logs.
using LogThreshold = std::atomic<service::LogLevel>;

enum class LogFormat : std::uint8_t { kText, kJson };

/// A line per event on `fd`: time (UTC), level, event. Where that is the journal, the level is told
/// in its way instead, and the time left to it. A pipe that nobody empties costs lines, which are
/// counted, and never stops the caller.
/// With kJson a line is an object: `time`, `level`, `event` and the event's pairs as texts.
std::unique_ptr<service::Log> console_log(LogThreshold& most, int fd = STDERR_FILENO,
                                          LogFormat format = LogFormat::kText);

/// Facility daemon.
std::unique_ptr<service::Log> system_log(LogThreshold& most);

/// Writes to all of them, one at least, which share a threshold.
std::unique_ptr<service::Log> join_logs(std::vector<std::unique_ptr<service::Log>> logs);

}  // namespace sluice::daemon
