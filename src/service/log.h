// Where events of the daemon go.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/log/event_log.h"

namespace sluice::service {

using sluice::in_quotes;
using sluice::LogLevel;

/// Safe across threads; waits for a slow reader only as long as the system's write does.
class Log {
 public:
  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  virtual ~Log() = default;

  virtual bool is_wanted(LogLevel level) const = 0;
  /// `event`: a name and key=value pairs, `session.open id=3 process=812 client="bench"`.
  virtual void write(LogLevel level, std::string_view event) = 0;
  /// The least important events that are written. Any thread may change it at any time.
  virtual LogLevel level() const = 0;
  virtual void set_level(LogLevel level) = 0;

  template <typename... Args>
  void add(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (is_wanted(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
  }
};

/// Drops everything.
class NoLog final : public Log {
 public:
  bool is_wanted(LogLevel /*level*/) const override { return false; }
  void write(LogLevel /*level*/, std::string_view /*event*/) override {}
  LogLevel level() const override { return LogLevel::kError; }
  void set_level(LogLevel /*level*/) override {}
};

}  // namespace sluice::service
