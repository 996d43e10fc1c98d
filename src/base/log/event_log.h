// Events of the engine, for whoever asks: one sink per process, silent without one.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace sluice {

/// Numbers of the daemon's option -l: all up to that one are wanted.
enum class LogLevel : int { kError = 3, kWarning = 4, kInfo = 5, kDebug = 6, kTrace = 7 };

/// Hears events on the threads where they happen, several at once. It must not block on the engine:
/// that thread may hold a lock. Events of its own calls are dropped; so are exceptions.
using LogSink = std::function<void(LogLevel level, std::string_view event)>;

/// Replaces the sink of the process; an empty one makes it silent. When this returns, no thread is
/// in the former sink. Safe from any thread.
/// Fails: kFailedPrecondition in a sink.
Status set_log_sink(LogSink sink, LogLevel most);

/// Whether the sink wants events of this level. One load.
bool is_logged(LogLevel level);

/// Passes an event to the sink. Usually called through `log_event`.
void write_log(LogLevel level, std::string_view event);

/// An event is a name and key=value pairs: `model.loaded name="digits" group=3`.
template <typename... Args>
void log_event(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (is_logged(level)) write_log(level, fmt::format(format, std::forward<Args>(args)...));
}

/// `text` in quotes, with what would break a line or the quotes escaped; cut at 200 bytes.
std::string in_quotes(std::string_view text);

}  // namespace sluice
