// Queues of all tensors of a model, and the requests that come of them.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "base/serial_pump.h"
#include "runtime/data/tensor_queue.h"

namespace sluice::runtime {

struct QueueOptions {
  /// Of each queue; 0 for twice the model's depth.
  std::size_t capacity = 0;
};

/// A queue per input and output tensor. When every queue has an entry and the model has room, the
/// first of each become a request, which reads and writes the enqueued memory itself. So nothing
/// waits but for data, or for memory to put data in:
///
///     enqueued --one in every queue, room in the model--> running --> callback of every tensor
///         `--closed--> callback with kCancelled
///
/// Has no thread: requests start on the threads that enqueue and on those that complete. Requests
/// start in order; with a depth above one they may complete in another. Safe from any thread, each
/// queue as its header says.
class QueueManager {
 public:
  /// `model` is borrowed and outlives this.
  /// Fails: kInvalidArgument for inputs of which more than the leading dimension is unknown.
  static Result<std::unique_ptr<QueueManager>> create(RequestSink& model,
                                                      const QueueOptions& options = {});
  QueueManager(const QueueManager&) = delete;
  QueueManager& operator=(const QueueManager&) = delete;
  ~QueueManager();

  /// In the signature's order.
  std::deque<TensorQueue>& inputs() { return inputs_; }
  std::deque<TensorQueue>& outputs() { return outputs_; }
  /// Of an input or output; null if there is none.
  TensorQueue* find(std::string_view name);

  /// Starts what may start. Needed only when others fill the model too, and nothing of this
  /// manager's runs.
  void pump();

  /// Returns when `is_done` or at `deadline_ns`; the thread may be used to run requests.
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
    return model_.wait(is_done, deadline_ns);
  }

  /// Closes the queues, gives back with kCancelled what waits in them, and waits for what runs:
  /// afterwards every callback has been called. Not from a callback.
  void close();

 private:
  /// The records of a request.
  struct Slot {
    std::atomic<bool> is_taken = false;
    std::vector<TensorQueue::Record> inputs;
    std::vector<TensorQueue::Record> outputs;
  };

  explicit QueueManager(RequestSink& model) : model_(model) {}
  void start_requests();
  Slot* find_free_slot();
  bool has_data() const;
  void take_records(Slot& slot);
  Status start(Slot& slot);
  void finish(Slot& slot, const Reply& reply);
  void cancel_waiting();

  RequestSink& model_;
  std::deque<TensorQueue> inputs_;
  std::deque<TensorQueue> outputs_;
  std::deque<Slot> slots_;
  SerialPump pump_;
  Slot* stalled_ = nullptr;  ///< the model refused it; only the pump touches it
  std::atomic<int> open_ = 0;
  std::atomic<bool> is_closing_ = false;
};

}  // namespace sluice::runtime
