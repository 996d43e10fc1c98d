#include "shm/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace sluice::shm {

void futex_wait(std::uint32_t* word, std::uint32_t seen, std::int64_t timeout_ns) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  timeout_ns = std::max<std::int64_t>(timeout_ns, 0);
  timespec timeout = {};
  timeout.tv_sec = timeout_ns / kNsPerSecond;
  timeout.tv_nsec = timeout_ns % kNsPerSecond;
  // Whatever it returns, the caller looks again.
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void futex_wake(std::uint32_t* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

}  // namespace sluice::shm
