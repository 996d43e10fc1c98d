// Tensor queues of a model, and requests made from them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/serial_pump.h"
#include "session/tensor_queue.h"

namespace sluice::session {

struct QueueOptions {
  /// Capacity of each queue; 0: twice the depth of the model.
  std::size_t capacity = 0;
};

/// Has a queue per input and output tensor. When every queue has an entry and the model has room,
/// their first entries become a request, which uses the enqueued memory without copies:
///
///     enqueued --one in every queue, room in the model--> running --> callback of every tensor
///         `--closed--> callback with kCancelled
///
/// Requests start on threads that enqueue, on threads that complete requests, and, after the model
/// had no room, on a thread that tries again. Requests start in order; with a depth above one they
/// may complete out of order. Safe from any thread; TensorQueue states the rules of a queue.
class QueueManager {
 public:
  /// `model` is borrowed and outlives this.
  /// Fails: kInvalidArgument for inputs with unknown dimensions after the leading one.
  static Result<std::unique_ptr<QueueManager>> create(runtime::RequestSink& model,
                                                      const QueueOptions& options = {});
  QueueManager(const QueueManager&) = delete;
  QueueManager& operator=(const QueueManager&) = delete;
  ~QueueManager();

  /// In the signature's order.
  std::deque<TensorQueue>& inputs() { return inputs_; }
  std::deque<TensorQueue>& outputs() { return outputs_; }
  /// The queue of an input or output; null for an unknown name.
  TensorQueue* find(std::string_view name);
  /// The error of an entry for a name that `find` does not know: kNotFound with the reason.
  Status no_queue(std::string_view name) const;

  /// Closes the queues, returns waiting entries with kCancelled, and waits for running requests:
  /// every callback has been called at the end. Not from a callback.
  void close();

 private:
  /// The records of a request.
  struct Slot {
    std::atomic<bool> is_taken = false;
    std::vector<TensorQueue::Record> inputs;
    std::vector<TensorQueue::Record> outputs;
  };

  explicit QueueManager(runtime::RequestSink& model) : model_(model) {}
  /// Starts requests if possible.
  void pump();
  void start_requests();
  bool try_later();
  void keep_trying();
  Slot* find_free_slot();
  bool has_data() const;
  void take_records(Slot& slot);
  Status start(Slot& slot);
  void finish(Slot& slot, const runtime::Reply& reply);
  void cancel_waiting();

  runtime::RequestSink& model_;
  std::deque<TensorQueue> inputs_;
  std::deque<TensorQueue> outputs_;
  std::deque<Slot> slots_;
  SerialPump pump_;
  Slot* stalled_ = nullptr;  ///< refused by the model; used by the pump alone
  std::atomic<int> open_ = 0;
  std::atomic<bool> is_closing_ = false;
  std::mutex retry_mutex_;  ///< of what follows; nothing else is locked under it
  std::condition_variable retry_changed_;
  bool wants_retry_ = false;
  std::thread retrier_;  ///< since the model had no room for the first time
};

}  // namespace sluice::session
