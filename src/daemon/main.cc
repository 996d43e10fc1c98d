// `sluiced`. Exit codes: 0 stopped as asked, 1 could not start, 2 wrong usage, 3 a computation
// hung.
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <thread>

#include "daemon/daemon.h"
#include "daemon/flags.h"
#include "daemon/logs.h"
#include "daemon/systemd/inherited_sockets.h"
#include "daemon/systemd/notify.h"

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

/// Blocks the signals in all threads; `wait_for_stop` receives them.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

/// Errors are logged only: a failed notification must not end the daemon or shorten a drain.
void tell_manager(std::string_view state, service::Log& log) {
  const Status status = notify_manager(state);
  if (!status.is_ok()) {
    log.add(service::LogLevel::kWarning, "manager.not_told reason={}",
            service::in_quotes(status.message()));
  }
}

/// The settings; the default address is dropped if the manager passed sockets.
Settings with_sockets(const Invocation& invocation, const Sockets& sockets) {
  Settings settings = invocation.settings;
  if (!sockets.empty() && !invocation.origins.contains("listen")) settings.listen.clear();
  return settings;
}

/// Reads the command line and its configuration file again. Invalid settings change nothing.
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

/// To the hard limit: a connection costs a descriptor, a shared region and a package too.
void raise_descriptor_limit(service::Log& log) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  log.add(service::LogLevel::kWarning, "daemon.descriptors limit={} reason={}", limit.rlim_cur,
          service::in_quotes(std::strerror(errno)));
}

Result<int> serve(const Settings& settings, const Start& start) {
  const sigset_t signals = block_signals();  // before there are threads
  LogThreshold threshold = static_cast<service::LogLevel>(settings.log_level);
  const auto log = open_log(settings, threshold);
  raise_descriptor_limit(*log);
  auto daemon = Daemon::start(settings, start.sockets, *log);
  if (!daemon.is_ok()) {
    log->add(service::LogLevel::kError, "daemon.start_failed reason={}",
             service::in_quotes(daemon.status().message()));
    return std::move(daemon).status();
  }
  log->add(service::LogLevel::kInfo, "daemon.ready version={} devices={} listen={}", kVersion,
           (*daemon)->devices().devices.size(), fmt::join((*daemon)->addresses(), ","));
  fmt::print("sluiced: listening on {}\n", fmt::join((*daemon)->addresses(), ", "));
  if (!settings.exchange_listen.empty()) {
    fmt::print("sluiced: exchange on {}\n", (*daemon)->exchange_address());
  }
  if (!settings.metrics.empty()) {
    fmt::print("sluiced: metrics on {}\n", (*daemon)->metrics_address());
  }
  if (!settings.http.empty()) fmt::print("sluiced: http on {}\n", (*daemon)->http_address());
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

/// The exit code of an invocation that only prints; 1 if the output is lost, as on a full disk.
int exit_code_of_print(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "sluiced: output is lost: cannot write to stdout\n");
  return 1;
}

Result<int> run(int argc, char** argv) {
  const Invocation invocation = SLUICE_TRY(read_command_line(argc, argv));
  if (invocation.is_done) return exit_code_of_print(invocation.exit_code);
  if (invocation.prints_schema) {
    fmt::print("{}", print_schema());
    return exit_code_of_print(0);
  }
  if (invocation.only_checks) {
    fmt::print("{}", print_settings(invocation.settings, invocation.origins));
    return exit_code_of_print(0);
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
