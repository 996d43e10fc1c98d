#include "base/system/processor.h"

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <latch>
#include <memory>
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

cpu_set_t set_of(std::span<const std::int32_t> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::int32_t cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  return set;
}

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

std::vector<std::int32_t> usable_cpus() {
  std::vector<std::int32_t> cpus;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace sluice
