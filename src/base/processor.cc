#include "base/processor.h"

#include <sched.h>

#include <cstddef>

namespace sluice {

void keep_off_my_processor(pthread_t thread) {
  cpu_set_t others;
  CPU_ZERO(&others);
  if (sched_getaffinity(0, sizeof others, &others) != 0) return;
  CPU_CLR(static_cast<std::size_t>(sched_getcpu()), &others);
  if (CPU_COUNT(&others) > 0) pthread_setaffinity_np(thread, sizeof others, &others);
}

}  // namespace sluice
