// `sluiced`. Exit codes: 0 stopped as asked, 1 could not start, 2 wrong usage.
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <thread>

#include "daemon/daemon.h"
#include "daemon/flags.h"
#include "daemon/inherited_sockets.h"
#include "daemon/logs.h"
#include "daemon/notify.h"

namespace sluice::daemon {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

/// Unix sockets of the service manager's, by path.
using Sockets = std::map<std::string, int>;

/// What the process was started with.
struct Start {
  int argc = 0;
  char** argv = nullptr;
  Sockets sockets;
};

std::unique_ptr<service::Log> open_log(const Settings& settings, const LogThreshold& most) {
  std::vector<std::unique_ptr<service::Log>> logs;
  logs.push_back(system_log(most));
  if (settings.log_console) logs.push_back(console_log(most));
  return join_logs(std::move(logs));
}

/// Held back in all threads, taken by `wait_for_stop`.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

/// A manager that cannot be told is no reason to end, nor to cut a drain short.
void tell_manager(std::string_view state, service::Log& log) {
  const Status status = notify_manager(state);
  if (!status.is_ok()) {
    log.add(service::LogLevel::kWarning, "manager.not_told reason={}",
            service::in_quotes(status.message()));
  }
}

/// What was asked for; the default address only if the manager did not hand over sockets.
Settings with_sockets(const Invocation& invocation, const Sockets& sockets) {
  Settings settings = invocation.settings;
  if (!sockets.empty() && !invocation.origins.contains("listen")) settings.listen.clear();
  return settings;
}

/// Reads the command line and the file that it names again. Settings that cannot be change nothing.
void reload(Daemon& daemon, const Start& start, LogThreshold& threshold, service::Log& log) {
  tell_manager("RELOADING=1", log);
  const auto invocation = read_command_line(start.argc, start.argv);
  const auto change = invocation.is_ok() ? daemon.reload(with_sockets(*invocation, start.sockets))
                                         : Result<SettingsChange>(invocation.status());
  if (change.is_ok()) {
    threshold = static_cast<service::LogLevel>(daemon.settings().log_level);
    log.add(service::LogLevel::kInfo, "daemon.reload changed={}", fmt::join(change->taken, ","));
    if (!change->left.empty()) {
      log.add(service::LogLevel::kWarning, "daemon.reload_left needs_restart={}",
              fmt::join(change->left, ","));
    }
  } else {
    log.add(service::LogLevel::kError, "daemon.reload_failed reason={}",
            service::in_quotes(change.status().message()));
  }
  tell_manager("READY=1", log);
}

/// Until SIGTERM or SIGINT comes; meanwhile SIGHUP reloads, and the manager's watchdog is told that
/// we live.
template <typename Reload>
int wait_for_stop(const sigset_t& signals, service::Log& log, const Reload& reload) {
  const std::int64_t period_ns = watchdog_ns() > 0 ? watchdog_ns() / 2 : 3600 * kNsPerSecond;
  const timespec period = {period_ns / kNsPerSecond, period_ns % kNsPerSecond};
  while (true) {
    const int number = sigtimedwait(&signals, nullptr, &period);
    if (number == SIGTERM || number == SIGINT) return number;
    if (number == SIGHUP) reload();
    tell_manager("WATCHDOG=1", log);
  }
}

/// A second signal while requests are drained: end now.
void end_at_second_signal(const sigset_t& signals) {
  std::thread([signals] {
    int number = 0;
    while (sigwait(&signals, &number) == 0) {
      if (number != SIGHUP) _exit(1);
    }
  }).detach();
}

Result<int> serve(const Settings& settings, const Start& start) {
  const sigset_t signals = block_signals();  // before there are threads
  LogThreshold threshold = static_cast<service::LogLevel>(settings.log_level);
  const auto log = open_log(settings, threshold);
  auto daemon = Daemon::start(settings, start.sockets, *log);
  if (!daemon.is_ok()) {
    log->add(service::LogLevel::kError, "daemon.start_failed reason={}",
             service::in_quotes(daemon.status().message()));
    return std::move(daemon).status();
  }
  log->add(service::LogLevel::kInfo, "daemon.ready version={} devices={} listen={}", kVersion,
           (*daemon)->devices().devices.size(), fmt::join((*daemon)->addresses(), ","));
  fmt::print("sluiced: listening on {}\n", fmt::join((*daemon)->addresses(), ", "));
  if (!settings.metrics.empty()) {
    fmt::print("sluiced: metrics on {}\n", (*daemon)->metrics_address());
  }
  std::fflush(stdout);
  tell_manager(
      fmt::format("READY=1\nSTATUS=Serving {} devices", (*daemon)->devices().devices.size()), *log);
  const int number =
      wait_for_stop(signals, *log, [&] { reload(**daemon, start, threshold, *log); });
  const std::int64_t drain_seconds = (*daemon)->settings().drain_seconds;
  log->add(service::LogLevel::kInfo, "daemon.stop signal={} drain_s={}", number, drain_seconds);
  tell_manager("STOPPING=1\nSTATUS=Finishing requests", *log);
  end_at_second_signal(signals);
  (*daemon)->stop(drain_seconds * kNsPerSecond);
  log->add(service::LogLevel::kInfo, "daemon.end");
  return 0;
}

Result<int> run(int argc, char** argv) {
  const Invocation invocation = SLUICE_TRY(read_command_line(argc, argv));
  if (invocation.is_done) return invocation.exit_code;
  if (invocation.prints_schema) {
    fmt::print("{}", print_schema());
    return 0;
  }
  if (invocation.only_checks) {
    fmt::print("{}", print_settings(invocation.settings, invocation.origins));
    return 0;
  }
  const Sockets sockets = SLUICE_TRY(take_inherited_sockets());
  return serve(with_sockets(invocation, sockets), {argc, argv, sockets});
}

}  // namespace
}  // namespace sluice::daemon

int main(int argc, char** argv) {
  try {
    const auto code = sluice::daemon::run(argc, argv);
    if (code.is_ok()) return *code;
    std::fprintf(stderr, "sluiced: %s\n", code.status().to_string().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluiced: internal error: %s\n", error.what());
  }
  return 1;
}
