// `g_calls` counts the calls that run, plus kEnded once the interpreter ends. One atomic number
// holds both, so that no call starts between the end's check of the flag and its check of the
// count.
#include "calls/process.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "calls/errors.h"

namespace sluice::python {
namespace {

constexpr std::uint64_t kEnded = std::uint64_t{1} << 63;

std::atomic<std::uint64_t> g_calls = 0;
std::atomic<std::uint32_t> g_generation = 0;
thread_local std::uint64_t t_calls = 0;  // those of `g_calls` that this thread is in

void count_fork() {
  g_generation.fetch_add(1);
  // Other threads that were in a call do not exist in the child. The one that forked may be in one,
  // as in the progress function of a compilation.
  g_calls.store((g_calls.load() & kEnded) | t_calls);
}

}  // namespace

std::uint32_t fork_generation() { return g_generation.load(std::memory_order_relaxed); }

void require_process(std::uint32_t generation) {
  if (generation == fork_generation()) return;
  throw Failure(Code::kFailedPrecondition,
                "the model was loaded before this process forked, and its worker threads are not "
                "here; load it again, or start processes by the method \"spawn\"");
}

void watch_forks() { ::pthread_atfork(nullptr, nullptr, count_fork); }

NativeCall::NativeCall() {
  if ((g_calls.fetch_add(1) & kEnded) == 0) {
    ++t_calls;
    return;
  }
  g_calls.fetch_sub(1);
  throw Failure(Code::kFailedPrecondition, "the interpreter is shutting down");
}

NativeCall::~NativeCall() {
  --t_calls;
  g_calls.fetch_sub(1);
}

void end_calls() {
  g_calls.fetch_or(kEnded);
  while (g_calls.load() != kEnded) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace sluice::python
