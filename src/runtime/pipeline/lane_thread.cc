#include "runtime/pipeline/lane_thread.h"

#include <utility>

#include "base/process/with_lock.h"
#include "base/system/processor.h"

namespace sluice::runtime {

LaneThread::LaneThread(std::vector<std::int32_t> cpus, std::function<void()> after)
    : cpus_(std::move(cpus)), after_(std::move(after)), thread_([this] { run(); }) {}

LaneThread::~LaneThread() {
  with_lock(mutex_, [&] { is_stopping_ = true; });
  changed_.notify_all();
  thread_.join();
}

void LaneThread::start(Job job) {
  // Without the lock: the state is idle, so the thread does not look at job_. The release below
  // publishes it.
  job_ = std::move(job);
  with_lock(mutex_, [&] { state_.store(State::kJob, std::memory_order_release); });
  changed_.notify_all();
}

Status LaneThread::take() {
  // is_done() has acquired the thread's store of kDone, and with it result_.
  state_.store(State::kIdle, std::memory_order_relaxed);
  return std::exchange(result_, ok_status());
}

void LaneThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !has_job(); });
}

void LaneThread::run() {
  stay_on(cpus_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || has_job(); });
    // A job that was started before the destructor still runs.
    if (!has_job()) return;
    lock.unlock();
    result_ = job_();
    lock.lock();
    state_.store(State::kDone, std::memory_order_release);
    lock.unlock();
    changed_.notify_all();
    // Without the lock: after_ wakes the driver, which may start the next job from its own thread
    // at once.
    after_();
    lock.lock();
  }
}

}  // namespace sluice::runtime
