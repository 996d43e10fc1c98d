// Requests of a few rows each, run together as the batch that the model was compiled for.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/serial_pump.h"
#include "runtime/request.h"

namespace sluice::runtime {

struct BatchOptions {
  /// Rows of a batch. 0: the leading dimension that the model was compiled for; must be given where
  /// that is a symbol, and then a batch that is not full runs as it is, without padding.
  std::int64_t batch_rows = 0;
  /// Longest time that a request waits for others to fill its batch.
  std::int64_t most_delay_ns = 0;
};

/// Takes requests of any number of rows (the leading dimension of every input and output), in order
/// of their coming. A batch goes when it is full, or when its oldest rows have waited for the
/// delay; rows it lacks are zeros, and the outputs are split among those who gave the others. A
/// request of more rows than a batch spans several. One that is a batch by itself is not copied.
///
///     waiting --batch full, or delay over--> in batches --all its rows done--> answered
///        `--cancelled, deadline passed--> answered
///
/// Safe from any thread: a lock around the line, held for its bookkeeping and never while bytes are
/// copied or the model is called. Time passes in `flush` and in `wait`.
class Batcher final : public RequestSink {
 public:
  /// `model` is borrowed. Fails: kInvalidArgument for a model without such rows, or whose other
  /// dimensions are not all known; for options that do not fit it.
  static Result<std::unique_ptr<Batcher>> create(RequestSink& model, const BatchOptions& options);
  ~Batcher() override;

  /// The model's with any number of rows.
  const package::Signature& signature() const override { return signature_; }
  int depth() const override { return model_.depth(); }
  Clock& clock() const override { return model_.clock(); }
  Result<std::uint64_t> submit(Request& request) override;
  /// False too for one of which rows run already.
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  void tell_waiters() override { model_.tell_waiters(); }

  /// Lets go what is due by now. When it should be called next; kNoDeadline if nothing waits.
  std::int64_t flush();

  /// Answers what waits with kCancelled, refuses what comes, waits for what runs.
  void shutdown();

  /// Batches given to the model so far, and rows in them that requests brought.
  std::int64_t num_batches() const { return num_batches_.load(std::memory_order_relaxed); }
  std::int64_t num_rows() const { return num_rows_.load(std::memory_order_relaxed); }

 private:
  struct Call;
  struct Batch;
  using CallPtr = std::shared_ptr<Call>;

  Batcher(RequestSink& model, const BatchOptions& options) : model_(model), options_(options) {}
  Status prepare();
  Result<CallPtr> make_call(Request& request) const;
  std::shared_ptr<Batch> next_batch(std::int64_t now_ns);
  void start_batches();
  Status start(const std::shared_ptr<Batch>& batch);
  void finish(const std::shared_ptr<Batch>& batch, Reply reply);
  void fail_waiting(const std::function<bool(const Call&)>& is_meant, const Status& status);

  RequestSink& model_;
  BatchOptions options_;
  package::Signature signature_;
  bool has_fixed_rows_ = false;  ///< the compiled batch: pad
  std::vector<std::int64_t> input_row_bytes_;
  std::vector<std::int64_t> output_row_bytes_;

  SerialPump pump_;
  std::shared_ptr<Batch> stalled_;  ///< the model refused it; only the pump touches it
  std::atomic<bool> is_stalled_ = false;
  std::atomic<int> in_flight_ = 0;
  std::atomic<int> open_ = 0;  ///< batches out of the line and not answered
  std::atomic<std::int64_t> num_batches_ = 0;
  std::atomic<std::int64_t> num_rows_ = 0;

  std::mutex mutex_;  // of what follows, and of calls
  std::deque<CallPtr> line_;
  std::int64_t rows_waiting_ = 0;
  std::uint64_t next_id_ = 1;
  bool is_shut_down_ = false;
};

}  // namespace sluice::runtime
