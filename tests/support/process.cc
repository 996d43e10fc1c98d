#include "support/process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/eventually.h"
#include "support/sanitizer.h"

namespace sluice::testing {
namespace {

namespace fs = std::filesystem;

/// While it is held, scripts/stress-tests stops and wakes no process.
class StressLock {
 public:
  StressLock() {
    const char* path = std::getenv("SLUICE_STRESS_LOCK");
    if (path != nullptr) fd_ = open(path, O_RDWR | O_CLOEXEC);
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  StressLock(const StressLock&) = delete;
  StressLock& operator=(const StressLock&) = delete;
  ~StressLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  int fd_ = -1;
};

fs::path folder_of(pid_t process) { return fs::path("/proc") / std::to_string(process); }

}  // namespace

std::string status_of(pid_t process, const std::string& key) {
  std::ifstream file(folder_of(process) / "status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key + ":")) continue;
    const std::size_t at = line.find_first_not_of(" \t", key.size() + 1);
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "";
}

std::set<pid_t> threads_of(pid_t process) {
  std::set<pid_t> threads;
  std::error_code error;
  for (fs::directory_iterator it(folder_of(process) / "task", error), end; !error && it != end;
       it.increment(error)) {
    threads.insert(static_cast<pid_t>(std::stol(it->path().filename().string())));
  }
  return threads;
}

char state_of(pid_t process, pid_t thread) {
  std::ifstream file(folder_of(process) / "task" / std::to_string(thread) / "stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const std::size_t end = stat.rfind(") ");  // of the name, which may hold anything
  return end == std::string::npos || end + 2 >= stat.size() ? '\0' : stat[end + 2];
}

std::vector<int> usable_processors() {
  std::vector<int> found;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) found.push_back(cpu);
  }
  return found;
}

ProcessFigures figures_of(pid_t process) {
  ProcessFigures figures;
  std::error_code error;
  for (fs::directory_iterator it(folder_of(process) / "fd", error), end; !error && it != end;
       it.increment(error)) {
    ++figures.num_fds;
  }
  std::ifstream maps(folder_of(process) / "maps");
  for (std::string line; std::getline(maps, line);) {
    ++figures.num_mappings;
    if (line.find("sluice-shared") != std::string::npos) ++figures.num_shared;
  }
  for (const pid_t thread : threads_of(process)) {
    ++figures.num_threads;
    std::ifstream children(folder_of(process) / "task" / std::to_string(thread) / "children");
    for (pid_t child = 0; children >> child;) ++figures.num_children;
  }
  return figures;
}

MemoryLimit::MemoryLimit(pid_t process, std::int64_t more_bytes) : process_(process) {
  if (kIsSanitized) return;
  const std::string now_kb = status_of(process, "VmData");
  bool is_set = !now_kb.empty() && prlimit(process, RLIMIT_DATA, nullptr, &before_) == 0;
  if (is_set) {
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>((std::stoll(now_kb) << 10) + more_bytes);
    is_set = prlimit(process, RLIMIT_DATA, &limit, nullptr) == 0;
  }
  if (is_set) return;
  std::perror("prlimit");  // without the limit the test would prove nothing
  std::abort();
}

MemoryLimit::~MemoryLimit() {
  if (!kIsSanitized) prlimit(process_, RLIMIT_DATA, &before_, nullptr);
}

bool suspend(pid_t process) {
  const StressLock no_pauses;
  if (kill(process, SIGSTOP) != 0) return false;
  return eventually([&] {
    const std::set<pid_t> threads = threads_of(process);
    return !threads.empty() && std::ranges::all_of(threads, [&](pid_t thread) {
      const char state = state_of(process, thread);
      return state == 'T' || state == '\0';
    });
  });
}

bool kill_child(pid_t parent, pid_t process) {
  // Through a descriptor: were the process gone, its number might be another's by now.
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (fd < 0) return false;
  const bool is_killed = status_of(process, "PPid") == std::to_string(parent) &&
                         syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0) == 0;
  close(fd);
  return is_killed;
}

}  // namespace sluice::testing
