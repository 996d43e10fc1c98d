// Items that many threads leave for one, which takes them in batches.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"
#include "base/result.h"

namespace sluice::telemetry {

struct BatchLimits {
  std::size_t most = 8192;                   ///< items that wait; one more is dropped
  std::size_t batch = 512;                   ///< so many wake the thread
  std::chrono::milliseconds interval{1000};  ///< which else looks this often
  std::chrono::milliseconds patience{2000};  ///< of `end`
};

/// `push` never blocks for the thread's work. Safe across threads.
template <typename Item>
class BatchThread {
 public:
  using Work = std::function<void(std::vector<Item>)>;

  /// `work` is called on the thread, with at least one item. Fails: as start_thread.
  static Result<std::unique_ptr<BatchThread>> start(BatchLimits limits, Work work) {
    std::unique_ptr<BatchThread> made(new BatchThread(limits, std::move(work)));
    made->thread_ = SLUICE_TRY(start_thread([raw = made.get()] { raw->loop(); }));
    return made;
  }
  BatchThread(const BatchThread&) = delete;
  BatchThread& operator=(const BatchThread&) = delete;
  /// Works at what waits, however long that takes, then ends the thread.
  ~BatchThread() {
    with_lock(mutex_, [&] { is_ending_ = true; });
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  /// Asks the thread to work at what waits and to end. Returns whether it did within `patience`;
  /// work that may take longer is then to be cut short before the destructor waits for it.
  bool end() {
    std::unique_lock lock(mutex_);
    is_ending_ = true;
    wake_.notify_one();
    return ended_.wait_for(lock, limits_.patience, [this] { return has_ended_; });
  }

  /// Returns whether the item found room.
  bool push(Item item) {
    bool is_full = false;
    {
      const std::lock_guard lock(mutex_);
      if (items_.size() >= limits_.most) {
        num_dropped_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
      try {
        items_.push_back(std::move(item));
      } catch (const std::bad_alloc&) {
        num_dropped_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
      is_full = items_.size() == limits_.batch;
    }
    if (is_full) wake_.notify_one();
    return true;
  }
  /// Items that found no room or no memory, and those of work that threw.
  std::int64_t num_dropped() const { return num_dropped_.load(std::memory_order_relaxed); }

 private:
  BatchThread(BatchLimits limits, Work work) : limits_(limits), work_(std::move(work)) {}

  void loop() {
    std::unique_lock lock(mutex_);
    while (!is_ending_ || !items_.empty()) {
      const auto has_batch = [this] { return is_ending_ || items_.size() >= limits_.batch; };
      wake_.wait_for(lock, limits_.interval, has_batch);
      if (items_.empty()) continue;
      std::vector<Item> batch = std::exchange(items_, {});
      lock.unlock();
      work(std::move(batch));
      lock.lock();
    }
    has_ended_ = true;
    ended_.notify_all();
  }

  /// A lack of memory costs the batch, not the process.
  void work(std::vector<Item> batch) {
    const auto num_items = static_cast<std::int64_t>(batch.size());
    try {
      work_(std::move(batch));
    } catch (const std::exception&) {
      num_dropped_.fetch_add(num_items, std::memory_order_relaxed);
    }
  }

  const BatchLimits limits_;
  const Work work_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  bool has_ended_ = false;
  std::vector<Item> items_;
  std::atomic<std::int64_t> num_dropped_ = 0;
  std::thread thread_;
};

}  // namespace sluice::telemetry
