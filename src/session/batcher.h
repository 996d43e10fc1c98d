// Joins requests of a few rows into batches of the size that the model was compiled for.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/serial_pump.h"
#include "runtime/request/request.h"

namespace sluice::session {

struct BatchOptions {
  /// Rows of a batch. 0: the compiled leading dimension. Required if that is a symbol; the model
  /// then runs a partial batch without padding.
  std::int64_t batch_rows = 0;
  /// Longest time that a request waits for a full batch.
  std::int64_t max_delay_ns = 0;
};

/// Accepts requests of any number of rows (the leading dimension of every input and output) in the
/// order of their arrival. A batch runs when it is full, or when its oldest rows have waited for
/// the delay. Missing rows are zeros; each request gets its rows of the outputs. A request with
/// more rows than a batch spans several batches. A request that fills a batch alone is not copied.
///
///     waiting --batch full, or delay over--> in batches --all its rows done--> answered
///        `--cancelled, deadline passed--> answered
///
/// Safe from any thread. One lock guards the line; no thread holds it while it copies bytes or
/// calls the model. `flush` and `wait` apply delays and deadlines.
class Batcher final : public runtime::RequestSink {
 public:
  /// `model` is borrowed. Fails: kInvalidArgument for a model without rows, or with other unknown
  /// dimensions; for options that do not fit the model.
  static Result<std::unique_ptr<Batcher>> create(runtime::RequestSink& model,
                                                 const BatchOptions& options);
  ~Batcher() override;

  /// The model's signature with any number of rows.
  const package::Signature& signature() const override { return signature_; }
  int depth() const override { return model_.depth(); }
  Clock& clock() const override { return model_.clock(); }
  Result<std::uint64_t> submit(runtime::Request& request) override;
  /// False also for a request with running rows.
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  void tell_waiters() override { model_.tell_waiters(); }

  /// Runs due batches. Returns the time of the next call; kNoDeadline if no request waits.
  std::int64_t flush();

  /// Cancels waiting requests, refuses new ones, waits for running batches.
  void shutdown();

  /// Batches submitted so far, and their rows without padding.
  std::int64_t num_batches() const { return num_batches_.load(std::memory_order_relaxed); }
  std::int64_t num_rows() const { return num_rows_.load(std::memory_order_relaxed); }

 private:
  struct Call;
  struct Batch;
  using CallPtr = std::shared_ptr<Call>;

  Batcher(runtime::RequestSink& model, const BatchOptions& options)
      : model_(model), options_(options) {}
  Status prepare();
  Result<CallPtr> make_call(runtime::Request& request) const;
  std::shared_ptr<Batch> next_batch(std::int64_t now_ns);
  void start_batches();
  Status start(const std::shared_ptr<Batch>& batch);
  void finish(const std::shared_ptr<Batch>& batch, runtime::Reply reply);
  void fail_waiting(const std::function<bool(const Call&)>& is_meant, const Status& status);

  runtime::RequestSink& model_;
  BatchOptions options_;
  package::Signature signature_;
  bool has_fixed_rows_ = false;  ///< the model has a fixed batch: pad partial batches
  std::vector<std::int64_t> input_row_bytes_;
  std::vector<std::int64_t> output_row_bytes_;

  SerialPump pump_;
  std::shared_ptr<Batch> stalled_;  ///< refused by the model; used by the pump alone
  std::atomic<bool> is_stalled_ = false;
  std::atomic<int> in_flight_ = 0;
  std::atomic<int> open_ = 0;  ///< submitted batches without a reply
  std::atomic<std::int64_t> num_batches_ = 0;
  std::atomic<std::int64_t> num_rows_ = 0;

  std::mutex mutex_;  // guards the members below, and calls
  std::deque<CallPtr> line_;
  std::int64_t rows_waiting_ = 0;
  std::uint64_t next_id_ = 1;
  bool is_shut_down_ = false;
};

}  // namespace sluice::session
