#include "worker/link/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>  // NOLINT: sigabbrev_np
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

extern char** environ;

namespace sluice::worker {
namespace {

constexpr int kSocketFd = 3;

std::string describe_end(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return fmt::format("signal {} (SIG{})", WTERMSIG(status), name == nullptr ? "?" : name);
}

/// Of what posix_spawn takes, freed with it.
struct SpawnPlan {
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  posix_spawn_file_actions_t actions = {};
  posix_spawnattr_t attributes = {};
};

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const std::filesystem::path& program,
                                                const shm::Fd& socket) {
  SpawnPlan plan;
  posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, socket.get(), kSocketFd);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string path = program.string();
  std::array<char*, 2> arguments = {path.data(), nullptr};
  pid_t id = -1;
  const int error =
      posix_spawn(&id, path.c_str(), &plan.actions, &plan.attributes, arguments.data(), environ);
  if (error != 0) {
    return make_error(error == ENOENT ? Code::kNotFound : Code::kUnavailable,
                      "{} does not start: {}", path, strerror(error));
  }
  return std::unique_ptr<Process>(new Process(id));
}

void Process::kill() {
  const std::lock_guard lock(mutex_);
  if (!is_gone_) ::kill(id_, SIGKILL);
}

std::string Process::end() {
  kill();  // one that has ended already does not notice
  // Waited for without the lock, for `kill`, and without taking its end, so that its number stays
  // its.
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const std::lock_guard lock(mutex_);
  if (is_gone_) return end_;
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  is_gone_ = true;
  end_ = describe_end(status);
  return end_;
}

}  // namespace sluice::worker
