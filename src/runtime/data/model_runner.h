// A model as a function: tensors in, tensors out, for any number of threads.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/parking_spot.h"
#include "runtime/data/batcher.h"
#include "runtime/data/replica_set.h"
#include "runtime/request.h"

namespace sluice::runtime {

struct RunnerOptions {
  ReplicaOptions replicas;
  std::optional<BatchOptions> batching;  ///< none: every request runs as it comes
  /// Of requests that bring no deadline; 0 for none.
  std::int64_t timeout_ns = 0;
  /// A thread that keeps deadlines and delays of requests nobody waits for. Without it somebody
  /// calls `step`: tests do, by a clock of their own.
  bool has_timer = true;
};

using NamedInputs = std::map<std::string, exec::TensorView, std::less<>>;
using NamedOutputs = std::map<std::string, OutputMemory, std::less<>>;

/// Replicas, batching, deadlines and answers behind three calls. Safe from any thread but for its
/// destruction.
class ModelRunner {
 public:
  /// The replicas are borrowed; they are started, and of one model.
  /// Fails: as ReplicaSet and Batcher do.
  static Result<std::unique_ptr<ModelRunner>> create(std::vector<RequestSink*> replicas,
                                                     const RunnerOptions& options = {});
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;
  /// Shuts down.
  ~ModelRunner();

  const package::Signature& signature() const { return sink().signature(); }

  /// Tensors by name to a request with tensors by index.
  /// Fails: kBadInput naming a tensor that is missing, or that the model does not have.
  Result<Request> make_request(const NamedInputs& inputs, const NamedOutputs& outputs = {}) const;

  /// Runs it and waits, on this thread where the model allows. `on_done` is not called. Bad input
  /// and time-outs are answers too, with the tensor's name and what was wanted.
  Reply run(Request request);
  /// The memory of inputs and outputs stays valid until the answer.
  std::future<Reply> run_async(Request request);
  /// `request.on_done` is called once, in any case, on any thread; also before this returns.
  void run_with_callback(Request request);

  /// Lets time pass for what waits. When it should be called next.
  std::int64_t step();

  /// Refuses what comes, cancels what waits, waits for what runs: afterwards every caller has had
  /// its answer. Once or often, from any thread but a callback's.
  void shutdown();

 private:
  explicit ModelRunner(const RunnerOptions& options) : options_(options) {}
  RequestSink& sink() const;
  Status submit(Request& request);
  void keep_time();

  RunnerOptions options_;
  std::unique_ptr<ReplicaSet> replicas_;
  std::unique_ptr<Batcher> batcher_;  // before the replicas it fills
  std::atomic<int> num_callers_ = 0;
  std::atomic<bool> is_shut_down_ = false;
  std::atomic<bool> has_news_ = false;  ///< for the timer: something waits since it looked
  ParkingSpot timer_spot_;
  std::thread timer_;
};

}  // namespace sluice::runtime
