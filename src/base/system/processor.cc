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
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::int32_t cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace sluice
