#include "base/process/child.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>  // NOLINT: sigabbrev_np
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/process/pipe.h"
#include "base/process/spawn_plan.h"

namespace sluice {
namespace {

constexpr int kLookMs = 50;  ///< between two looks at the stop token

/// What a pipe brings, until its end.
struct Stream {
  int fd;
  std::string* text;
  std::size_t kept_bytes;
};

/// False at the end.
bool read_some(const Stream& stream) {
  std::array<char, 4096> buffer = {};
  const ssize_t size = read(stream.fd, buffer.data(), buffer.size());
  if (size < 0 && errno == EINTR) return true;
  if (size <= 0) return false;
  stream.text->append(buffer.data(), static_cast<std::size_t>(size));
  if (stream.text->size() > 2 * stream.kept_bytes) {
    stream.text->erase(0, stream.text->size() - stream.kept_bytes);
  }
  return true;
}

Status check_wanted(std::int64_t deadline_ns, const std::stop_token& stop) {
  if (stop.stop_requested()) return make_error(Code::kCancelled, "killed: no longer wanted");
  if (system_clock().now_ns() < deadline_ns) return ok_status();
  return make_error(Code::kDeadlineExceeded, "killed: it took too long");
}

/// Until the child has closed its ends of all pipes. Fails: as run_child.
Status read_all(std::vector<Stream> streams, std::int64_t deadline_ns,
                const std::stop_token& stop) {
  while (!streams.empty()) {
    SLUICE_TRY(check_wanted(deadline_ns, stop));
    std::vector<pollfd> waiting;
    for (const Stream& stream : streams) waiting.push_back({stream.fd, POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), kLookMs) <= 0) continue;
    std::vector<Stream> open;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (waiting[i].revents == 0 || read_some(streams[i])) open.push_back(streams[i]);
    }
    streams = std::move(open);
  }
  return ok_status();
}

/// From outside: a program that starts has these limits before it reads what could exceed them.
void limit(pid_t id, const ChildLimits& limits) {
  if (limits.memory_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(limits.memory_bytes);
    const rlimit memory = {bytes, bytes};
    prlimit(id, RLIMIT_AS, &memory, nullptr);
  }
  if (limits.niceness > 0) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(id),
                getpriority(PRIO_PROCESS, 0) + limits.niceness);
  }
}

/// A child may close its pipes and go on. Leaves its end to take_end.
Status wait_for_end(pid_t id, std::int64_t deadline_ns, const std::stop_token& stop) {
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0) {
    SLUICE_TRY(check_wanted(deadline_ns, stop));
    poll(nullptr, 0, 1);
  }
  return ok_status();
}

Result<pid_t> spawn(const std::filesystem::path& program, std::vector<std::string> words,
                    const Pipe& output, const Pipe& errors, bool shows_errors) {
  SpawnPlan plan;
  posix_spawn_file_actions_adddup2(&plan.actions, output.write.get(), STDOUT_FILENO);
  if (!shows_errors) {
    posix_spawn_file_actions_adddup2(&plan.actions, errors.write.get(), STDERR_FILENO);
  }
  return plan.start(program.string(), std::move(words));
}

}  // namespace

std::string describe_end(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return fmt::format("signal {} (SIG{})", WTERMSIG(status), name == nullptr ? "?" : name);
}

int exit_code(int status) {
  constexpr int kSignalled = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

int take_end(pid_t id) {
  int status = 0;
  while (waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Result<ChildEnd> run_child(const std::filesystem::path& program, std::vector<std::string> words,
                           const ChildLimits& limits, const std::stop_token& stop,
                           bool shows_errors) {
  auto output = std::make_optional(SLUICE_TRY(Pipe::create()));
  auto errors = std::make_optional(SLUICE_TRY(Pipe::create()));
  const pid_t id = SLUICE_TRY(spawn(program, std::move(words), *output, *errors, shows_errors));
  limit(id, limits);
  const FileDescriptor from_output = std::move(output->read);
  const FileDescriptor from_errors = std::move(errors->read);
  output.reset();  // only the child holds the other ends, and the pipes end with it
  errors.reset();
  ChildEnd end;
  const std::int64_t deadline_ns =
      deadline_after(system_clock(), limits.time_ns > 0 ? limits.time_ns : -1);
  Status status = read_all({{from_output.get(), &end.output, limits.kept_bytes},
                            {from_errors.get(), &end.errors, limits.kept_bytes}},
                           deadline_ns, stop);
  if (status.is_ok()) status = wait_for_end(id, deadline_ns, stop);
  if (!status.is_ok()) kill(id, SIGKILL);
  end.status = take_end(id);
  SLUICE_TRY(Status(status).with_context(program.filename().string()));
  for (std::string* text : {&end.output, &end.errors}) {
    if (text->size() > limits.kept_bytes) text->erase(0, text->size() - limits.kept_bytes);
  }
  return end;
}

std::filesystem::path program_beside(const std::string& name) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name;
}

}  // namespace sluice
