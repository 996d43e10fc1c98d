// The queue of a tensor: memory of its next values.
#pragma once

#include <functional>
#include <mutex>

#include "base/ring.h"
#include "runtime/request/request.h"

namespace sluice::session {

/// The result of an entry, whose memory returns to its owner.
struct QueueCompletion {
  RuntimeCode code = RuntimeCode::kOk;
  std::int64_t size_bytes = 0;  ///< an output's actual size; an input's as enqueued
};

/// A function and its context, for records that are copied as bytes. Must not wait.
struct QueueCallback {
  void (*function)(void* context, const QueueCompletion& completion) = nullptr;
  void* context = nullptr;

  void operator()(const QueueCompletion& completion) const {
    if (function != nullptr) function(context, completion);
  }
};

/// A ring of pointers to the user's memory; the queue copies no tensor bytes. Any thread
/// enqueues; which entries of several tensors meet is for those who enqueue to order.
class TensorQueue {
 public:
  /// `on_enqueued` is called after every entry, by the thread that enqueued it.
  TensorQueue(terms::TensorSpec spec, bool is_output, std::size_t capacity, Clock& clock,
              std::function<void()> on_enqueued);

  /// Adds memory of an input or output, which the queue uses until the callback. Waits while the
  /// queue is full, at most until `deadline_ns` on the manager's clock; 0 does not wait. After
  /// success the callback is called exactly once, else never.
  /// Fails: kBadInput   null, or of another size than the tensor, which the message names
  ///        kQueueFull  full until the deadline
  ///        kFailed     closed
  Status enqueue(void* data, std::int64_t size_bytes, QueueCallback on_done,
                 std::int64_t deadline_ns = 0);

  const terms::TensorSpec& spec() const { return spec_; }
  std::size_t capacity() const { return ring_.capacity(); }
  /// Waiting entries, without those of a running request.
  std::size_t size() const { return ring_.size(); }

 private:
  friend class QueueManager;
  struct Record {
    void* data = nullptr;
    std::int64_t size_bytes = 0;
    QueueCallback on_done;
  };

  RingResult push(const Record& record, std::int64_t deadline_ns);
  Status check(const void* data, std::int64_t size_bytes) const;
  /// Requires: `check` was ok with this size.
  std::vector<std::int64_t> dims_of(std::int64_t size_bytes) const;

  terms::TensorSpec spec_;
  bool is_output_;
  std::int64_t unit_bytes_ =
      -1;  ///< bytes with a leading dimension of 1 in place of an unknown one; -1 if unknown
  bool has_unknown_rows_ = false;
  Clock& clock_;
  std::function<void()> on_enqueued_;
  std::mutex producers_;  ///< the ring has one at a time; nothing else is locked under it
  Ring<Record> ring_;
};

}  // namespace sluice::session
