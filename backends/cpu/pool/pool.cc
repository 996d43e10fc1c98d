#include "pool/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <span>
#include <utility>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sluice::cpu {
namespace {

/// Flushes denormals to zero until the end of the scope.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);
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

void keep_to(pthread_t thread, std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  pthread_setaffinity_np(thread, sizeof set, &set);  // a wish: a refusal costs time, not results
}

}  // namespace

WorkerPool::WorkerPool(std::vector<int> cpus, Strain strain)
    : cpus_(std::move(cpus)), barrier_(static_cast<int>(cpus_.size())), strain_(strain),
      is_strained_(strain.is_high()) {
  try {
    for (int i = 1; i < count(); ++i) {
      threads_.emplace_back([this, i] { serve(i); });
    }
  } catch (...) {
    stop();
    throw;
  }
  set_mode(TeamMode::kPinned);
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  task_ = nullptr;
  epoch_.advance();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::serve(int index) {
  const FlushDenormals flush;
  for (std::uint32_t seen = 0;;) {
    epoch_.wait_while(seen);
    ++seen;
    if (task_ == nullptr) return;
    task_(context_, Member(index, count(), &barrier_));
    barrier_.wait();
  }
}

/// Spreads the threads over their processors, or lets all of them use all.
void WorkerPool::set_mode(TeamMode mode) {
  mode_ = mode;
  const bool is_loose = mode == TeamMode::kLoose;
  const std::span<const int> all = cpus_;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    keep_to(threads_[i].native_handle(), is_loose ? all : all.subspan(i + 1, 1));
  }
  barrier_.set_patience(is_loose ? Patience::kYield : Patience::kSpin);
}

void WorkerPool::give_way_to_caller() {
  const int here = sched_getcpu();
  if (here == cpus_[0]) return;
  const auto taken = std::find(cpus_.begin() + 1, cpus_.end(), here);
  if (taken == cpus_.end()) return;
  std::swap(cpus_[0], *taken);
  const auto moved = static_cast<std::size_t>(taken - cpus_.begin() - 1);
  keep_to(threads_[moved].native_handle(), {&*taken, 1});
}

void WorkerPool::note_waits() {
  const std::uint32_t long_waits = barrier_.long_waits();
  strain_.note(long_waits != long_waits_before_);
  long_waits_before_ = long_waits;
  is_strained_.store(strain_.is_high(), std::memory_order_relaxed);
}

void WorkerPool::run(Task task, void* context, TeamMode mode) {
  if (mode == TeamMode::kAlone || count() == 1 || busy_.exchange(true, std::memory_order_acquire)) {
    run_alone(task, context);
    return;
  }
  const FlushDenormals flush;
  if (mode != mode_) set_mode(mode);
  if (mode == TeamMode::kPinned) give_way_to_caller();
  task_ = task;
  context_ = context;
  epoch_.advance();
  task(context, Member(0, count(), &barrier_));
  barrier_.wait();
  note_waits();
  busy_.store(false, std::memory_order_release);
}

void WorkerPool::run_alone(Task task, void* context) {
  const FlushDenormals flush;
  task(context, Member(0, 1, nullptr));
}

}  // namespace sluice::cpu
