// `sluiced`. Exit codes: 0 stopped as asked, 1 could not start, 2 wrong usage.
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <thread>

#include "daemon/daemon.h"
#include "daemon/flags.h"
#include "daemon/logs.h"
#include "daemon/notify.h"

namespace sluice::daemon {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::unique_ptr<service::Log> open_log(const Settings& settings) {
  const auto most = static_cast<service::LogLevel>(settings.log_level);
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

/// Until SIGTERM or SIGINT comes; meanwhile the manager's watchdog is told that we live.
int wait_for_stop(const sigset_t& signals, service::Log& log) {
  const std::int64_t period_ns = watchdog_ns() > 0 ? watchdog_ns() / 2 : 3600 * kNsPerSecond;
  const timespec period = {period_ns / kNsPerSecond, period_ns % kNsPerSecond};
  while (true) {
    const int number = sigtimedwait(&signals, nullptr, &period);
    if (number == SIGTERM || number == SIGINT) return number;
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

Result<int> serve(const Settings& settings) {
  const sigset_t signals = block_signals();  // before there are threads
  const auto log = open_log(settings);
  auto daemon = Daemon::start(settings, *log);
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
  const int number = wait_for_stop(signals, *log);
  log->add(service::LogLevel::kInfo, "daemon.stop signal={} drain_s={}", number,
           settings.drain_seconds);
  tell_manager("STOPPING=1\nSTATUS=Finishing requests", *log);
  end_at_second_signal(signals);
  (*daemon)->stop(settings.drain_seconds * kNsPerSecond);
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
  return serve(invocation.settings);
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
