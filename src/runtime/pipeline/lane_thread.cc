#include "runtime/pipeline/lane_thread.h"

#include <utility>

#include "base/system/processor.h"

namespace sluice::runtime {

LaneThread::LaneThread(std::vector<std::int32_t> cpus, std::function<void()> after)
    : cpus_(std::move(cpus)), after_(std::move(after)), thread_([this] { run(); }) {}

LaneThread::~LaneThread() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LaneThread::start(Job job) {
  job_ = std::move(job);
  {
    const std::lock_guard lock(mutex_);
    state_.store(State::kJob, std::memory_order_release);
  }
  changed_.notify_all();
}

Status LaneThread::take() {
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
    if (!has_job()) return;
    lock.unlock();
    result_ = job_();
    lock.lock();
    state_.store(State::kDone, std::memory_order_release);
    lock.unlock();
    changed_.notify_all();
    after_();
    lock.lock();
  }
}

}  // namespace sluice::runtime
