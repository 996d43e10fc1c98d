#include "worker/link/process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/process/child.h"
#include "base/process/spawn_plan.h"

namespace sluice::worker {
namespace {

constexpr int kSocketFd = 3;

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const std::filesystem::path& program,
                                                const shm::Fd& socket) {
  SpawnPlan plan;
  posix_spawn_file_actions_adddup2(&plan.actions, socket.get(), kSocketFd);
  const pid_t id = SLUICE_TRY(plan.start(program.string(), {program.string()}));
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
  is_gone_ = true;
  end_ = describe_end(take_end(id_));
  return end_;
}

}  // namespace sluice::worker
