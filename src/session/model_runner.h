// A model as a function: tensors in, tensors out, for any number of threads.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/parking_spot.h"
#include "runtime/request/request.h"
#include "session/replica_set.h"

namespace sluice::session {

using NamedInputs = std::map<std::string, terms::TensorView, std::less<>>;
using NamedOutputs = std::map<std::string, terms::OutputMemory, std::less<>>;

/// Replicas and deadlines behind three calls. Safe from any thread, except destruction.
class ModelRunner {
 public:
  /// Borrows the replicas. Requires: started replicas of one model.
  /// Fails: as ReplicaSet.
  static Result<std::unique_ptr<ModelRunner>> create(std::vector<runtime::RequestSink*> replicas,
                                                     const terms::RunnerOptions& options = {});
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;
  /// Shuts down.
  ~ModelRunner();

  const terms::Signature& signature() const { return sink().signature(); }
  /// The replicas: to cancel and to wait.
  runtime::RequestSink& sink() const { return *replicas_; }
  /// Accepts the request and returns an id for RequestSink::cancel. Fails: as RequestSink::submit.
  Result<std::uint64_t> submit(runtime::Request& request);

  /// Converts tensors by name to a request by index.
  /// Fails: kBadInput; the message names the missing or unknown tensor.
  Result<runtime::Request> make_request(const NamedInputs& inputs,
                                        const NamedOutputs& outputs = {}) const;

  /// Runs a request and waits, on this thread if the model allows. Does not call `on_done`. Bad
  /// input and timeouts become replies with the name and expected type of the tensor.
  runtime::Reply run(runtime::Request request);
  /// Calls `request.on_done` once in all cases, on any thread, possibly before it returns.
  /// Requires: the memory of inputs and outputs stays valid until then.
  void run_with_callback(runtime::Request request);

  /// Applies deadlines. Returns the time of the next call.
  std::int64_t step() { return replicas_->expire(); }

  /// Refuses new requests, cancels waiting ones, waits for running ones: every request has its
  /// reply at the end. May be called again. Not from a callback.
  void shutdown();

 private:
  explicit ModelRunner(const terms::RunnerOptions& options) : options_(options) {}
  Result<std::uint64_t> enter(runtime::Request& request);
  void keep_time();

  terms::RunnerOptions options_;
  std::unique_ptr<ReplicaSet> replicas_;
  std::atomic<int> num_callers_ = 0;
  std::atomic<bool> is_shut_down_ = false;
  std::atomic<bool> has_news_ = false;  ///< a request waits since the timer's last look
  ParkingSpot timer_spot_;
  std::thread timer_;
};

}  // namespace sluice::session
