// `sluiced`. Exit codes: 0 stopped as asked, 1 could not start, 2 wrong usage, 3 a computation
// or a driver hung.
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/process/child.h"
#include "base/process/memory_limit.h"
#include "base/process/start_thread.h"
#include "base/system/heap.h"
#include "base/text/plural.h"
#include "base/text/version.h"
#include "daemon/daemon.h"
#include "daemon/flags.h"
#include "daemon/handover/inherited.h"
#include "daemon/handover/successor.h"
#include "daemon/inherited_addresses.h"
#include "daemon/logs.h"
#include "daemon/systemd/notify.h"
#include "rpc/wire/locks/lock_checks.h"

namespace sluice::daemon {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

/// What the process was started with.
struct Start {
  int argc = 0;
  char** argv = nullptr;
  std::vector<InheritedAddress> addresses;
  int report_fd = -1;  ///< to the daemon before this one; -1: none
};

std::unique_ptr<service::Log> open_log(const Settings& settings, LogThreshold& most) {
  std::vector<std::unique_ptr<service::Log>> logs;
  logs.push_back(system_log(most));
  const LogFormat format = settings.log_format == "json" ? LogFormat::kJson : LogFormat::kText;
  if (settings.log_console) logs.push_back(console_log(most, STDERR_FILENO, format));
  return join_logs(std::move(logs));
}

/// Blocks the signals in all threads; `wait_for_stop` receives them.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) sigaddset(&signals, number);
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

/// The settings, with the addresses of inherited sockets.
Result<Settings> with_sockets(const Invocation& invocation, const Start& start) {
  Settings settings = invocation.settings;
  SLUICE_TRY(apply_inheritance(start.addresses, invocation.origins.contains("listen"), settings));
  SLUICE_TRY(check_settings(settings));
  return settings;
}

Result<Settings> read_again(const Start& start) {
  return with_sockets(SLUICE_TRY(read_command_line(start.argc, start.argv)), start);
}

/// Reads the command line and its configuration file again. Invalid settings change nothing.
void reload(Daemon& daemon, const Start& start, LogThreshold& threshold, service::Log& log) {
  tell_manager("RELOADING=1", log);
  const auto settings = read_again(start);
  const auto change =
      settings.is_ok() ? daemon.reload(*settings) : Result<SettingsChange>(settings.status());
  if (change.is_ok()) {
    // A level that a client set stays otherwise.
    if (std::ranges::find(change->taken, "log_level") != change->taken.end()) {
      threshold = static_cast<service::LogLevel>(daemon.settings().log_level);
    }
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

/// The daemon that takes the place of this one, from SIGUSR2 on.
///
///     (none) --SIGUSR2--> starting --it reports--> serves
///        ^                   |
///        +-----it ends-------+
class Succession {
 public:
  Succession(Daemon& daemon, const Start& start, service::Log& log)
      : daemon_(daemon), words_(start.argv, start.argv + start.argc), log_(log) {}

  void begin() {
    if (successor_ != nullptr) return;
    // Its end ends every process of the container, and whoever lost a parent belongs to it.
    if (getpid() == 1) {
      return give_up("process 1 of a container cannot leave it; start another container");
    }
    auto started = Successor::start(program_beside("sluiced"), words_, daemon_.pass_on());
    if (!started.is_ok()) return give_up(started.status().message());
    successor_ = std::move(*started);
    log_.add(service::LogLevel::kInfo, "daemon.successor_starts");
  }

  /// -1: there is none.
  int report_fd() const { return successor_ == nullptr ? -1 : successor_->report_fd(); }

  /// True once the successor serves. Requires: report_fd() is readable.
  bool take_report() {
    process_ = successor_->confirm();
    if (process_ != 0) return true;
    give_up("it has ended, or did not serve in time; its messages say why");
    return false;
  }

  /// This daemon ends, and nobody takes its place: a successor that waits for an answer ends too.
  void cancel() { successor_ = nullptr; }

  pid_t process() const { return process_; }

 private:
  void give_up(const std::string& reason) {
    successor_ = nullptr;
    log_.add(service::LogLevel::kError, "daemon.successor_failed reason={}",
             service::in_quotes(reason));
    daemon_.resume();
  }

  Daemon& daemon_;
  const std::vector<std::string> words_;
  service::Log& log_;
  std::unique_ptr<Successor> successor_;
  pid_t process_ = 0;  ///< that serves
};

/// Until SIGTERM or SIGINT comes, or until a successor serves: SIGUSR2 then. Meanwhile SIGHUP
/// reloads, the manager's watchdog is told that we live, and the heap is trimmed.
template <typename Reload>
int wait_for_stop(const sigset_t& signals, service::Log& log, Succession& succession,
                  const Reload& reload) {
  const FileDescriptor come(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  constexpr std::int64_t kNsPerMs = 1'000'000;
  constexpr std::int64_t kHeapMs = 10'000;
  const std::int64_t period_ms =
      watchdog_ns() > 0 ? std::min(watchdog_ns() / 2 / kNsPerMs, kHeapMs) : kHeapMs;
  HeapTrimmer heap;
  while (true) {
    std::array<pollfd, 2> waits = {{{come.get(), POLLIN, 0}, {succession.report_fd(), POLLIN, 0}}};
    poll(waits.data(), waits.size(), static_cast<int>(period_ms));
    heap.look();
    signalfd_siginfo info = {};
    const bool has_come = read(come.get(), &info, sizeof(info)) == sizeof(info);
    const int number = has_come ? static_cast<int>(info.ssi_signo) : 0;
    if (number == SIGTERM || number == SIGINT) return number;
    if (number == SIGHUP) reload();
    if (number == SIGUSR2) succession.begin();
    if (waits[1].revents != 0 && succession.take_report()) return SIGUSR2;
    tell_manager("WATCHDOG=1", log);
  }
}

/// A second signal while requests are drained: end now. Without a thread only the drain ends.
void end_at_second_signal(const sigset_t& signals) {
  auto waiting = start_thread([signals] {
    int number = 0;
    while (sigwait(&signals, &number) == 0) {
      if (number == SIGTERM || number == SIGINT) _exit(1);
    }
  });
  if (waiting.is_ok()) waiting->detach();
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

/// Balancers look every few seconds; until they have, they still send requests.
void give_notice(Daemon& daemon) {
  daemon.announce_stop();
  std::this_thread::sleep_for(std::chrono::seconds(daemon.settings().drain_notice_seconds));
}

void print_addresses(const Daemon& daemon) {
  fmt::print("sluiced: listening on {}\n", fmt::join(daemon.addresses(), ", "));
  const Settings& settings = daemon.settings();
  if (!settings.exchange_listen.empty()) {
    fmt::print("sluiced: exchange on {}\n", daemon.exchange_address());
  }
  if (!settings.metrics.empty()) fmt::print("sluiced: metrics on {}\n", daemon.metrics_address());
  if (!settings.http.empty()) fmt::print("sluiced: http on {}\n", daemon.http_address());
  if (!settings.agent_check.empty()) {
    fmt::print("sluiced: agent check on {}\n", daemon.agent_address());
  }
  std::fflush(stdout);
}

/// Leaves the service to the successor, or takes leave of clients and balancers.
void end(Daemon& daemon, int number, Succession& succession, service::Log& log) {
  const std::int64_t drain_seconds = daemon.settings().drain_seconds;
  if (number == SIGUSR2) {
    log.add(service::LogLevel::kInfo, "daemon.leave successor={} drain_s={}", succession.process(),
            drain_seconds);
    tell_manager(fmt::format("MAINPID={}\nREADY=1\nSTATUS=Serving {}", succession.process(),
                             counted(daemon.devices().devices.size(), "device")),
                 log);
    daemon.leave(drain_seconds * kNsPerSecond);
  } else {
    succession.cancel();
    log.add(service::LogLevel::kInfo, "daemon.stop signal={} drain_s={}", number, drain_seconds);
    tell_manager("STOPPING=1\nSTATUS=Finishing requests", log);
    give_notice(daemon);
  }
  daemon.stop(drain_seconds * kNsPerSecond);
  log.add(service::LogLevel::kInfo, "daemon.end");
}

Result<int> serve(const Settings& settings, const Start& start, InheritedFds inherited) {
  const sigset_t signals = block_signals();  // before there are threads
  limit_usable_memory(settings.memory);      // before anything asks how much there is
  LogThreshold threshold = static_cast<service::LogLevel>(settings.log_level);
  const auto log = open_log(settings, threshold);
  raise_descriptor_limit(*log);
  const auto is_taken_over = inherited.taken_over();
  auto daemon = Daemon::start(settings, std::move(inherited), start.report_fd >= 0, *log);
  if (!daemon.is_ok()) {
    log->add(service::LogLevel::kError, "daemon.start_failed reason={}",
             service::in_quotes(daemon.status().message()));
    return std::move(daemon).status();
  }
  const std::size_t num_devices = (*daemon)->devices().devices.size();
  log->add(service::LogLevel::kInfo, "daemon.ready version={} devices={} listen={}", kSluiceVersion,
           num_devices, fmt::join((*daemon)->addresses(), ","));
  print_addresses(**daemon);
  // The daemon before this one tells the manager which process is the service now.
  if (start.report_fd >= 0) {
    Status status = report_to_predecessor(start.report_fd);
    if (!status.is_ok()) {
      (*daemon)->stop((*daemon)->settings().drain_seconds * kNsPerSecond);
      return status;
    }
    *is_taken_over = true;
    close(start.report_fd);
  } else {
    tell_manager(fmt::format("READY=1\nSTATUS=Serving {}", counted(num_devices, "device")), *log);
  }
  Succession succession(**daemon, start, *log);
  const int number =
      wait_for_stop(signals, *log, succession, [&] { reload(**daemon, start, threshold, *log); });
  end_at_second_signal(signals);
  end(**daemon, number, succession, *log);
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
  Inheritance inheritance = SLUICE_TRY(take_inheritance());
  if (inheritance.report_fd >= 0) SLUICE_TRY(leave_predecessor());
  const Start start = {argc, argv, inheritance.addresses, inheritance.report_fd};
  const Settings settings = SLUICE_TRY(with_sockets(invocation, start));
  return serve(settings, start, std::move(inheritance.fds));
}

}  // namespace
}  // namespace sluice::daemon

int main(int argc, char** argv) {
  sluice::rpc::wire::skip_lock_checks();
  try {
    const auto code = sluice::daemon::run(argc, argv);
    if (code.is_ok()) return *code;
    std::fprintf(stderr, "sluiced: %s\n", code.status().to_string().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluiced: internal error: %s\n", error.what());
  }
  return 1;
}
