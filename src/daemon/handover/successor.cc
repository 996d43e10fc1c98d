#include "daemon/handover/successor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>  // NOLINT: strerror
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/process/child.h"
#include "base/process/spawn_plan.h"
#include "daemon/handover/inherited.h"

namespace sluice::daemon {
namespace {

/// For a successor to load its models. Until it serves nobody else can deploy.
constexpr unsigned kMostStartSeconds = 600;

/// Ours, with what says which descriptors there are.
std::vector<std::string> environment_of(const std::vector<PassedFd>& fds) {
  std::vector<std::string> all = environment();
  std::string names;
  for (const PassedFd& one : fds) names += (names.empty() ? "" : ":") + one.name;
  all.push_back(fmt::format("LISTEN_FDS={}", fds.size()));
  all.push_back("LISTEN_FDNAMES=" + names);
  all.push_back(fmt::format("{}={}", kPredecessorVariable, getpid()));
  return all;
}

}  // namespace

Result<std::unique_ptr<Successor>> Successor::start(const std::filesystem::path& program,
                                                    std::vector<std::string> words,
                                                    std::vector<PassedFd> fds) {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return make_error(Code::kUnavailable, "no socket to a successor: {}", strerror(errno));
  }
  FileDescriptor report(ends[0]);
  const FileDescriptor its_end(ends[1]);
  fds.push_back({its_end.get(), std::string(kReportName)});
  const int above = kFirstPassedFd + static_cast<int>(fds.size());
  SpawnPlan plan;
  // Copies above all targets: a target may be the number of another descriptor.
  std::vector<FileDescriptor> copies;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    copies.emplace_back(fcntl(fds[i].fd, F_DUPFD_CLOEXEC, above));
    if (copies.back().get() < 0) {
      return make_error(Code::kUnavailable, "no descriptor left to pass on: {}", strerror(errno));
    }
    posix_spawn_file_actions_adddup2(&plan.actions, copies.back().get(),
                                     kFirstPassedFd + static_cast<int>(i));
  }
  // It ends at once (leave_predecessor); the socket tells of its child.
  take_end(SLUICE_TRY(plan.start(program.string(), std::move(words), environment_of(fds))));
  return std::unique_ptr<Successor>(new Successor(std::move(report)));
}

pid_t Successor::confirm() const {
  pid_t process = 0;
  if (read(report_.get(), &process, sizeof(process)) != sizeof(process)) return 0;
  return write(report_.get(), &process, sizeof(process)) == sizeof(process) ? process : 0;
}

Status leave_predecessor() {
  const pid_t child = fork();
  if (child > 0) _exit(0);
  if (child == 0) {
    alarm(kMostStartSeconds);
    return ok_status();
  }
  return make_error(Code::kUnavailable, "fork: {}", strerror(errno));
}

Status report_to_predecessor(int report_fd) {
  alarm(0);
  pid_t process = getpid();
  if (write(report_fd, &process, sizeof(process)) == sizeof(process)) {
    ssize_t size = 0;
    do {
      size = read(report_fd, &process, sizeof(process));
    } while (size < 0 && errno == EINTR);
    if (size == sizeof(process)) return ok_status();
  }
  return make_error(Code::kUnavailable, "the daemon before this one wants no successor any more");
}

}  // namespace sluice::daemon
