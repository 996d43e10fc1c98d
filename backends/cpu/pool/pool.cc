#include "pool/pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "contention/duty_cycle.h"
#include "pool/clock.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sluice::cpu {
namespace {

/// Whether the program wants denormals as IEEE 754 has them, at a hundred times the cost.
bool keeps_denormals() {
  static const char* const wanted = std::getenv("SLUICE_CPU_DENORMALS");
  return wanted != nullptr && std::string_view(wanted) == "keep";
}

/// Flushes denormals to zero until the end of the scope, unless the program keeps them.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) {
    if (!keeps_denormals()) _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() { _mm_setcsr(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned kFlushToZero = 0x8000;
  static constexpr unsigned kDenormalsAreZero = 0x0040;
  unsigned before_;
#endif
};

constexpr std::uint32_t kCallBits = 2;
constexpr std::uint32_t kCallMask = (1U << kCallBits) - 1;

void keep_to(pthread_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(thread, sizeof set,
                         &set);  // best effort: a refusal costs time, not results
}

/// How often the calling thread was preempted.
std::int64_t preemptions() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

void rest_if_due(DutyCycle& duty) {
  const timespec rest = {0, static_cast<long>(duty.rest_ns(now_ns(), preemptions))};
  if (rest.tv_nsec > 0) nanosleep(&rest, nullptr);
}

}  // namespace

ThreadPool::ThreadPool(std::vector<int> cpus, ContentionDetector detector)
    : cpus_(std::move(cpus)), barrier_(static_cast<int>(cpus_.size())), contention_(detector) {
  try {
    for (int i = 1; i < count(); ++i) {
      threads_.emplace_back([this, i] { serve(i); });
    }
  } catch (...) {
    stop();
    throw;
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    keep_to(threads_[i].native_handle(), cpus_[i + 1]);
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  call(kEnd);
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::call(Call what) { epoch_.set((epoch_.load() | kCallMask) + 1 + what); }

/// The loop of one thread. It may miss calls: epoch_ holds only the last one. A kRun is never
/// missed, because `run` returns only after every thread has passed the barrier. A missed kHelp
/// costs nothing but help.
void ThreadPool::serve(int index) {
  const FlushDenormals flush;
  DutyCycle duty;
  for (std::uint32_t seen = 0;;) {
    epoch_.wait_while(seen);
    seen = epoch_.load();
    switch (static_cast<Call>(seen & kCallMask)) {
      case kEnd: return;
      case kRun:
        task_(context_, Member(index, count(), &barrier_));
        barrier_.wait();
        break;
      case kHelp:
        if (gate_.enter()) {
          task_(context_, Member(index, count(), nullptr));
          gate_.leave();
        }
        rest_if_due(duty);
        break;
    }
  }
}

void ThreadPool::give_way_to_caller() {
  const int here = sched_getcpu();
  if (here == cpus_[0]) return;
  const auto taken = std::find(cpus_.begin() + 1, cpus_.end(), here);
  if (taken == cpus_.end()) return;
  std::swap(cpus_[0], *taken);
  const auto moved = static_cast<std::size_t>(taken - cpus_.begin() - 1);
  keep_to(threads_[moved].native_handle(), *taken);
}

/// Busy time of the helpers' processors, and the part of it that the helpers used.
std::optional<ContentionProbe::Seen> ThreadPool::look_at_helpers() {
  const auto busy_ns = read_busy_ns(std::span(cpus_).subspan(1));
  if (!busy_ns) return std::nullopt;
  ContentionProbe::Seen seen{*busy_ns, 0};
  for (std::thread& thread : threads_) {
    clockid_t clock = {};
    if (pthread_getcpuclockid(thread.native_handle(), &clock) != 0) return std::nullopt;
    seen.own += now_ns(clock);
  }
  return seen;
}

void ThreadPool::note_unpinned_run(std::int64_t run_ns) {
  if (count() == 1 || busy_.exchange(true, std::memory_order_acquire)) return;
  contention_.note_unpinned_run(now_ns(), run_ns, std::span(cpus_).subspan(1),
                                [this] { return look_at_helpers(); });
  leave();
}

/// Takes the pool. False if it has one member or is busy: the caller runs its task alone.
bool ThreadPool::enter() {
  if (count() == 1 || busy_.exchange(true, std::memory_order_acquire)) return false;
  give_way_to_caller();
  return true;
}

void ThreadPool::leave() { busy_.store(false, std::memory_order_release); }

void ThreadPool::run(Task task, void* context) {
  if (!enter()) return run_alone(task, context);
  const FlushDenormals flush;
  task_ = task;
  context_ = context;
  const std::int64_t start_ns = now_ns();
  call(kRun);
  task(context, Member(0, count(), &barrier_));
  barrier_.wait();
  contention_.note_pinned_run(now_ns() - start_ns, barrier_.waited_ns(), count());
  leave();
}

void ThreadPool::lead(Task task, Task help, void* context) {
  if (!enter()) return run_alone(task, context);
  const FlushDenormals flush;
  task_ = help;
  context_ = context;
  task(context, Member(0, count(), nullptr));
  leave();
}

void ThreadPool::offer() {
  gate_.open();
  call(kHelp);
}

void ThreadPool::withdraw() { gate_.close(); }

void ThreadPool::run_alone(Task task, void* context) {
  const FlushDenormals flush;
  task(context, Member(0, 1, nullptr));
}

}  // namespace sluice::cpu
