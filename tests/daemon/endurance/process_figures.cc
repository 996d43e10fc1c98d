#include "daemon/endurance/process_figures.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace sluice::testing {

ProcessFigures figures_of(pid_t process) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path("/proc") / std::to_string(process);
  ProcessFigures figures;
  std::error_code error;
  for (fs::directory_iterator it(folder / "fd", error), end; !error && it != end;
       it.increment(error)) {
    ++figures.num_fds;
  }
  std::ifstream maps(folder / "maps");
  for (std::string line; std::getline(maps, line);) ++figures.num_mappings;
  std::ifstream status(folder / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) figures.memory_kb = std::stoll(line.substr(6));
    if (line.starts_with("RssShmem:")) figures.shared_kb = std::stoll(line.substr(9));
    if (line.starts_with("Threads:")) figures.num_threads = std::stoll(line.substr(8));
  }
  for (fs::directory_iterator it(folder / "task", error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream children(it->path() / "children");
    for (pid_t child = 0; children >> child;) ++figures.num_children;
  }
  return figures;
}

bool kill_child(pid_t parent, pid_t process) {
  // Through a descriptor: were the process gone, its number might be another's by now.
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (fd < 0) return false;
  std::ifstream status(std::filesystem::path("/proc") / std::to_string(process) / "status");
  pid_t found = -1;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) found = static_cast<pid_t>(std::stol(line.substr(5)));
  }
  const bool is_killed =
      found == parent && syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0) == 0;
  close(fd);
  return is_killed;
}

}  // namespace sluice::testing
