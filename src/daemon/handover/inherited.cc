#include "daemon/handover/inherited.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/text/number.h"

namespace sluice::daemon {
namespace {

constexpr int kMaxFds = 1024;

/// -1 for what is no number.
int number_in(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? -1 : to_number<int>(text).value_or(-1);
}

/// Names of the descriptors, as LISTEN_FDNAMES has them.
std::vector<std::string> names_of(int count) {
  const char* text = std::getenv("LISTEN_FDNAMES");
  std::vector<std::string> names;
  std::string_view rest = text == nullptr ? "" : text;
  while (static_cast<int>(names.size()) < count) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

Status take(int fd, std::string_view name, bool is_predecessors, Inheritance& all) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (is_predecessors && name == kReportName) {
    all.report_fd = fd;
    return ok_status();
  }
  const bool is_managed = !is_predecessors || name.starts_with(kManagedPrefix);
  if (is_predecessors && is_managed) name.remove_prefix(kManagedPrefix.size());
  const std::string address = socket_address(fd);
  if (!is_predecessors && address.starts_with("unix:@")) {
    return invalid_argument("{} has no path; give ListenStream= an absolute one", address);
  }
  SLUICE_TRY(all.fds.add(fd, is_managed).with_context("sockets of the service manager"));
  if (address.empty() || name == kPassedLock) return ok_status();  // a lock
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  all.addresses.push_back({std::string(name), address, is_managed});
  return ok_status();
}

}  // namespace

Result<Inheritance> take_inheritance() {
  const int process = number_in("LISTEN_PID");
  const int count = number_in("LISTEN_FDS");
  const int predecessor = number_in(kPredecessorVariable);
  const std::vector<std::string> names = names_of(std::clamp(count, 0, kMaxFds));
  const bool is_predecessors = predecessor > 0 && predecessor == getppid();
  // The watchdog is this process's from now on.
  if (is_predecessors) unsetenv("WATCHDOG_PID");
  // Children inherit the environment, and must not take the sockets for theirs.
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", kPredecessorVariable}) {
    unsetenv(name);
  }
  Inheritance all;
  // Otherwise they are variables of an ancestor, whose descriptors are not here.
  if ((process != getpid() && !is_predecessors) || count <= 0) return all;
  if (count > kMaxFds) {
    return invalid_argument("{} sockets are handed over, at most {} are taken", count, kMaxFds);
  }
  for (int i = 0; i < count; ++i) {
    SLUICE_TRY(take(kFirstPassedFd + i, names[static_cast<std::size_t>(i)], is_predecessors, all));
  }
  return all;
}

}  // namespace sluice::daemon
