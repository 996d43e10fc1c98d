#include "worker/link/process.h"

#include <signal.h>
#include <string.h>  // NOLINT: strerror
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/process/child.h"
#include "base/process/spawn_plan.h"

extern char** environ;

namespace sluice::worker {
namespace {

constexpr int kSocketFd = 3;

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const std::filesystem::path& program,
                                                const shm::Fd& socket) {
  SpawnPlan plan;
  posix_spawn_file_actions_adddup2(&plan.actions, socket.get(), kSocketFd);
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
