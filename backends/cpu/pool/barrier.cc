#include "pool/barrier.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>

namespace sluice::cpu {
namespace {

using Clock = std::chrono::steady_clock;

/// Longer than members of an undisturbed team wait for each other at a barrier, much shorter than
/// a time slice: a thread that sleeps here was held up by another process, or has nothing to do.
constexpr std::chrono::microseconds kSpinTime{50};
constexpr int kPausesPerLook = 16;  ///< per reading of the clock

void pause_once() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value) {
  static_assert(sizeof(*word) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);
  return syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

void WaitWord::advance() {
  value_.fetch_add(1, std::memory_order_seq_cst);
  wake();
}

void WaitWord::set(std::uint32_t value) {
  value_.store(value, std::memory_order_seq_cst);
  wake();
}

void WaitWord::wake() {
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex(&value_, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

std::int64_t WaitWord::wait_while(std::uint32_t seen) {
  // Spin without reading the clock first: most waits inside a run end here.
  for (int i = 0; i < kPausesPerLook; ++i) {
    if (load() != seen) return 0;
    pause_once();
  }
  const auto start = Clock::now();
  const auto limit = start + kSpinTime;
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (load() != seen) return 0;
      pause_once();
    }
  } while (Clock::now() < limit);
  // Sequentially consistent, as the store in `advance` and the load in `wake`: either the author of
  // the change sees this sleeper and wakes it, or the sleeper sees the change and does not sleep.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (value_.load(std::memory_order_seq_cst) == seen) {
    futex(&value_, FUTEX_WAIT_PRIVATE, seen);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return std::chrono::nanoseconds(Clock::now() - start).count();
}

void Barrier::wait() {
  const std::uint32_t generation = generation_.load();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
    // The last to arrive. Nobody can arrive again before the generation advances, so a relaxed
    // store suffices; `advance` publishes it.
    arrived_.store(0, std::memory_order_relaxed);
    generation_.advance();
  } else if (const std::int64_t waited_ns = generation_.wait_while(generation); waited_ns > 0) {
    waited_ns_.fetch_add(waited_ns, std::memory_order_relaxed);
  }
}

}  // namespace sluice::cpu
