#include "base/system/processor.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstddef>
#include <latch>
#include <memory>
#include <mutex>
#include <utility>

namespace sluice {
namespace {

void keep_off_my_processor(pthread_t thread) {
  cpu_set_t others;
  CPU_ZERO(&others);
  if (sched_getaffinity(0, sizeof others, &others) != 0) return;
  CPU_CLR(static_cast<std::size_t>(sched_getcpu()), &others);
  if (CPU_COUNT(&others) > 0) pthread_setaffinity_np(thread, sizeof others, &others);
}

/// Empty if the system does not tell.
cpu_set_t affinity_of(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(thread, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

std::vector<std::int32_t> numbers_of(const cpu_set_t& set) {
  std::vector<std::int32_t> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

cpu_set_t set_of(std::span<const std::int32_t> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::int32_t cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  return set;
}

/// The processors of a process, which a forked one inherits and does not believe.
struct Known {
  std::mutex mutex;
  pid_t process = 0;
  std::vector<std::int32_t> cpus;
};
Known g_known;  // NOLINT: affinity, too, is of the process

}  // namespace

std::jthread start_elsewhere(std::function<void()> work) {
  const auto is_placed = std::make_shared<std::latch>(1);
  std::jthread thread([work = std::move(work), is_placed] {
    work();
    is_placed->wait();  // once the thread has ended, its id means the caller
  });
  keep_off_my_processor(thread.native_handle());
  is_placed->count_down();
  return thread;
}

void stay_on(std::span<const std::int32_t> cpus) {
  if (cpus.empty()) return;
  const cpu_set_t set = set_of(cpus);
  sched_setaffinity(0, sizeof set, &set);
}

bool StayOn::move_to(std::span<const std::int32_t> cpus) {
  if (sched_getaffinity(0, sizeof before_, &before_) != 0) return false;
  const cpu_set_t wanted = set_of(cpus);
  cpu_set_t both;
  CPU_AND(&both, &before_, &wanted);
  if (CPU_EQUAL(&both, &before_)) return false;
  return sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

void StayOn::move_back() const { sched_setaffinity(0, sizeof before_, &before_); }

std::vector<std::int32_t> usable_cpus() { return numbers_of(affinity_of(0)); }

std::vector<std::int32_t> process_cpus() {
  const std::lock_guard lock(g_known.mutex);
  if (g_known.process == getpid()) return g_known.cpus;
  // The first thread's number is the process's.
  const cpu_set_t first = affinity_of(getpid());
  const cpu_set_t own = affinity_of(0);
  cpu_set_t both;
  CPU_OR(&both, &first, &own);
  g_known.process = getpid();
  g_known.cpus = numbers_of(both);
  return g_known.cpus;
}

void set_process_cpus(std::vector<std::int32_t> cpus) {
  const std::lock_guard lock(g_known.mutex);
  g_known.process = getpid();
  g_known.cpus = std::move(cpus);
}

OnProcessCpus::OnProcessCpus() : before_(affinity_of(0)) { stay_on(process_cpus()); }

OnProcessCpus::~OnProcessCpus() {
  if (CPU_COUNT(&before_) > 0) pthread_setaffinity_np(pthread_self(), sizeof before_, &before_);
}

}  // namespace sluice
