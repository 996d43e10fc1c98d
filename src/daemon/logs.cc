#include "daemon/logs.h"

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <syslog.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/log/wall_time.h"
#include "daemon/telemetry/append.h"

namespace sluice::daemon {
namespace {

using service::LogLevel;

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return "error";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kInfo: return "info";
    case LogLevel::kDebug: return "debug";
    case LogLevel::kTrace: break;
  }
  return "trace";
}

int priority_of(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return LOG_ERR;
    case LogLevel::kWarning: return LOG_WARNING;
    case LogLevel::kInfo: return LOG_INFO;
    default: return LOG_DEBUG;
  }
}

/// systemd says so by the device and inode of what it connected.
bool is_journal(int fd) {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat info = {};
  if (stream == nullptr || fstat(fd, &info) != 0) return false;
  return fmt::format("{}:{}", info.st_dev, info.st_ino) == stream;
}

/// To the millisecond.
std::string time_text() { return utc_text(unix_time_ns(), 3); }

/// The text of a value, without quotes and what in_quotes escaped; moves `rest` behind it.
std::string take_value(std::string_view& rest) {
  std::string value;
  const bool is_quoted = rest.starts_with('"');
  if (is_quoted) rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != (is_quoted ? '"' : ' ')) {
    if (is_quoted && rest.size() > 1 && rest.front() == '\\' && rest[1] != 'x') {
      rest.remove_prefix(1);
    }
    value += rest.front();
    rest.remove_prefix(1);
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return value;
}

constexpr std::size_t kMaxJsonBytes = 1300;  // escaped it still fits PIPE_BUF: no object is cut

/// `event` is a name and key=value pairs. Words without a value are lost to no reader: they stand
/// under "text".
std::string json_line(LogLevel level, std::string_view event) {
  using Json = nlohmann::ordered_json;
  std::string_view rest = event;
  const std::size_t name_end = std::min(rest.find(' '), rest.size());
  Json line = {
      {"time", time_text()}, {"level", name_of(level)}, {"event", rest.substr(0, name_end)}};
  rest.remove_prefix(std::min(name_end + 1, rest.size()));
  while (!rest.empty()) {
    const std::size_t key_end = rest.find_first_of("= ");
    if (key_end == std::string_view::npos || rest[key_end] == ' ') {
      line["text"] = rest;
      break;
    }
    const std::string key(rest.substr(0, key_end));
    rest.remove_prefix(key_end + 1);
    line[key] = take_value(rest);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A line waits so long for room in a pipe that nobody empties.
constexpr int kPatienceMs = 200;

// A service must not stop because nobody reads what it says. A line that finds no room is lost, and
// the next one that finds some says how many were. While lines are lost none waits, so that a
// reader that is stuck costs one wait, not one for each line.
class ConsoleLog final : public service::Log {
 public:
  ConsoleLog(LogThreshold& most, int fd, LogFormat format)
      : most_(most), fd_(fd), format_(format), is_journal_(is_journal(fd)) {}
  bool is_wanted(LogLevel level) const override {
    return level <= most_.load(std::memory_order_relaxed);
  }
  void write(LogLevel level, std::string_view event) override {
    const std::lock_guard lock(mutex_);
    const int patience_ms = num_lost_ == 0 ? kPatienceMs : 0;
    if (num_lost_ > 0 &&
        put(LogLevel::kWarning, fmt::format("log.lost lines={}", num_lost_), patience_ms)) {
      num_lost_ = 0;
    }
    if (num_lost_ > 0 || !put(level, event, patience_ms)) ++num_lost_;
  }
  LogLevel level() const override { return most_.load(std::memory_order_relaxed); }
  void set_level(LogLevel level) override { most_ = level; }

 private:
  /// Whether the line was written; a closed console must not end the daemon.
  bool put(LogLevel level, std::string_view event, int patience_ms) {
    std::string line =
        format_ == LogFormat::kJson ? json_line(level, event.substr(0, kMaxJsonBytes))
        : is_journal_               ? fmt::format("<{}>{}\n", priority_of(level), event)
                                    : fmt::format("{} {} {}\n", time_text(), name_of(level), event);
    if (line.size() > PIPE_BUF) line = line.substr(0, PIPE_BUF - 4) + "...\n";
    return write_line(fd_, line, patience_ms, is_torn_).is_ok();
  }

  LogThreshold& most_;
  const int fd_;
  const LogFormat format_;
  const bool is_journal_;
  std::mutex mutex_;            ///< guards the rest
  std::uint64_t num_lost_ = 0;  ///< since the last line that found room
  bool is_torn_ = false;        ///< it ends with half a line
};

class SystemLog final : public service::Log {
 public:
  explicit SystemLog(LogThreshold& most) : most_(most) {
    openlog("sluiced", LOG_PID | LOG_NDELAY, LOG_DAEMON);
  }
  ~SystemLog() override { closelog(); }
  bool is_wanted(LogLevel level) const override {
    return level <= most_.load(std::memory_order_relaxed);
  }
  void write(LogLevel level, std::string_view event) override {
    syslog(priority_of(level), "%.*s", static_cast<int>(event.size()), event.data());
  }
  LogLevel level() const override { return most_.load(std::memory_order_relaxed); }
  void set_level(LogLevel level) override { most_ = level; }

 private:
  LogThreshold& most_;
};

class JoinedLog final : public service::Log {
 public:
  explicit JoinedLog(std::vector<std::unique_ptr<service::Log>> logs) : logs_(std::move(logs)) {}
  bool is_wanted(LogLevel level) const override {
    return std::ranges::any_of(logs_, [&](const auto& log) { return log->is_wanted(level); });
  }
  void write(LogLevel level, std::string_view event) override {
    for (const auto& log : logs_) {
      if (log->is_wanted(level)) log->write(level, event);
    }
  }
  LogLevel level() const override { return logs_.front()->level(); }
  void set_level(LogLevel level) override {
    for (const auto& log : logs_) log->set_level(level);
  }

 private:
  const std::vector<std::unique_ptr<service::Log>> logs_;
};

}  // namespace

std::unique_ptr<service::Log> console_log(LogThreshold& most, int fd, LogFormat format) {
  return std::make_unique<ConsoleLog>(most, fd, format);
}

std::unique_ptr<service::Log> system_log(LogThreshold& most) {
  return std::make_unique<SystemLog>(most);
}

std::unique_ptr<service::Log> join_logs(std::vector<std::unique_ptr<service::Log>> logs) {
  return std::make_unique<JoinedLog>(std::move(logs));
}

}  // namespace sluice::daemon
