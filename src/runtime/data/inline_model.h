// A loaded model that runs requests on the threads that wait for them.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/inference/pipeline.h"

namespace sluice::runtime {

/// The smallest sink: contexts and a line of requests, no thread of its own. `submit` queues; a
/// request runs when somebody is in `wait`, or calls `run_one`. Safe from any thread.
class InlineModel final : public RequestSink {
 public:
  /// `depth` slots, made here. Requests' tensors are moved through `devices` where the model's have
  /// memory of their own; null makes services for this model alone.
  /// Fails: kInvalidArgument for a depth below 1; what slots report.
  static Result<std::unique_ptr<InlineModel>> create(
      const exec::LoadedModel& model, int depth, Clock& clock,
      std::shared_ptr<device::DeviceServiceTable> devices = nullptr);

  const package::Signature& signature() const override { return pipeline_.model().signature(); }
  int depth() const override { return static_cast<int>(pipeline_.num_slots()); }
  Clock& clock() const override { return clock_; }
  Result<std::uint64_t> submit(Request& request) override;
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  void tell_waiters() override;

  /// Runs a request that waits, the one of the highest priority; false if there is none.
  bool run_one();

 private:
  struct Waiting {
    std::uint64_t id = 0;
    std::int64_t submitted_ns = 0;
    Request request;
  };

  InlineModel(std::shared_ptr<device::DeviceServiceTable> devices, Pipeline pipeline, Clock& clock)
      : devices_(std::move(devices)), pipeline_(std::move(pipeline)), clock_(clock) {}
  bool take(Waiting& waiting, std::size_t& slot);
  void finish(std::size_t slot);
  Reply run(std::size_t slot, const Waiting& waiting);

  std::shared_ptr<device::DeviceServiceTable> devices_;
  Pipeline pipeline_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::vector<std::size_t> free_slots_;
  std::size_t in_flight_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace sluice::runtime
