#include "daemon/logs.h"

#include <poll.h>
#include <sys/stat.h>
#include <syslog.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <utility>

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

/// "2026-11-21T15:45:26.123Z"
std::string time_text() {
  using namespace std::chrono;
  const auto since = system_clock::now().time_since_epoch();
  const std::time_t seconds = duration_cast<std::chrono::seconds>(since).count();
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     duration_cast<milliseconds>(since).count() % 1000);
}

/// A line waits so long for room in a pipe that nobody empties.
constexpr int kPatienceMs = 200;

// A service must not stop because nobody reads what it says. A line that finds no room is lost, and
// the next one that finds some says how many were. While lines are lost none waits, so that a
// reader that is stuck costs one wait, not one for each line.
//
// Up to PIPE_BUF bytes go into a pipe as a whole or not at all, so a write after poll never blocks.
class ConsoleLog final : public service::Log {
 public:
  ConsoleLog(const LogThreshold& most, int fd)
      : most_(most), fd_(fd), is_journal_(is_journal(fd)) {}
  bool is_wanted(LogLevel level) const override {
    return level <= most_.load(std::memory_order_relaxed);
  }
  void write(LogLevel level, std::string_view event) override {
    const std::lock_guard lock(mutex_);
    if (!has_room(num_lost_ == 0 ? kPatienceMs : 0)) {
      ++num_lost_;
      return;
    }
    if (num_lost_ > 0) {
      put(LogLevel::kWarning, fmt::format("log.lost lines={}", std::exchange(num_lost_, 0)));
      if (!has_room(0)) {
        ++num_lost_;
        return;
      }
    }
    put(level, event);
  }

 private:
  bool has_room(int timeout_ms) const {
    pollfd waiting{.fd = fd_, .events = POLLOUT, .revents = 0};
    return poll(&waiting, 1, timeout_ms) != 0;  // an error is the write's to meet
  }
  void put(LogLevel level, std::string_view event) const {
    std::string line = is_journal_ ? fmt::format("<{}>{}\n", priority_of(level), event)
                                   : fmt::format("{} {} {}\n", time_text(), name_of(level), event);
    if (line.size() > PIPE_BUF) line = line.substr(0, PIPE_BUF - 4) + "...\n";
    const ssize_t written = ::write(fd_, line.data(), line.size());
    (void)written;  // a closed console must not end the daemon
  }

  const LogThreshold& most_;
  const int fd_;
  const bool is_journal_;
  std::mutex mutex_;
  std::uint64_t num_lost_ = 0;  ///< since the last line that found room; guarded by mutex_
};

class SystemLog final : public service::Log {
 public:
  explicit SystemLog(const LogThreshold& most) : most_(most) {
    openlog("sluiced", LOG_PID | LOG_NDELAY, LOG_DAEMON);
  }
  ~SystemLog() override { closelog(); }
  bool is_wanted(LogLevel level) const override {
    return level <= most_.load(std::memory_order_relaxed);
  }
  void write(LogLevel level, std::string_view event) override {
    syslog(priority_of(level), "%.*s", static_cast<int>(event.size()), event.data());
  }

 private:
  const LogThreshold& most_;
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

 private:
  const std::vector<std::unique_ptr<service::Log>> logs_;
};

}  // namespace

std::unique_ptr<service::Log> console_log(const LogThreshold& most, int fd) {
  return std::make_unique<ConsoleLog>(most, fd);
}

std::unique_ptr<service::Log> system_log(const LogThreshold& most) {
  return std::make_unique<SystemLog>(most);
}

std::unique_ptr<service::Log> join_logs(std::vector<std::unique_ptr<service::Log>> logs) {
  return std::make_unique<JoinedLog>(std::move(logs));
}

}  // namespace sluice::daemon
