// A loaded model that runs requests on the threads of waiting callers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/line/waiting_line.h"
#include "runtime/pipeline/pipeline.h"

namespace sluice::session {

/// The smallest request sink: contexts and a line of requests, without a thread. `submit` queues a
/// request; threads in `wait` and callers of `run_one` run it. Safe from any thread.
class InlineModel final : public runtime::RequestSink {
 public:
  /// Creates `depth` slots. `devices` moves tensors to and from own-memory devices; null creates
  /// services for this model alone. Fails: kInvalidArgument for a depth below 1; errors of creating
  /// slots.
  static Result<std::unique_ptr<InlineModel>> create(
      const exec::LoadedModel& model, int depth, Clock& clock,
      std::shared_ptr<device::DeviceServiceTable> devices = nullptr);

  const exec::LoadedModel& loaded() const { return pipeline_.model(); }
  const terms::Signature& signature() const override { return pipeline_.model().signature(); }
  int depth() const override { return static_cast<int>(pipeline_.num_slots()); }
  Clock& clock() const override { return clock_; }
  Result<std::uint64_t> submit(runtime::Request& request) override;
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  void tell_waiters() override;

  /// Runs a request on this thread, before waiting ones and without its `on_done`;
  /// `before_segment` as in Pipeline::run. Fails: as `submit`.
  runtime::Reply run_now(const runtime::Request& request,
                         const std::function<Status(std::size_t)>& before_segment);
  /// Runs the waiting request of the highest priority; false if none waits.
  bool run_one();

 private:
  InlineModel(std::shared_ptr<device::DeviceServiceTable> devices, runtime::Pipeline pipeline,
              Clock& clock)
      : devices_(std::move(devices)), pipeline_(std::move(pipeline)), clock_(clock) {}
  std::optional<runtime::PendingRequest> take(std::size_t& slot);
  void finish(std::size_t slot);
  Status check(const runtime::Request& request) const;
  Status enter_locked();
  runtime::Reply run(std::size_t slot, const runtime::Request& request, std::int64_t submitted_ns,
                     const std::function<Status(std::size_t)>& before_segment = {});

  std::shared_ptr<device::DeviceServiceTable> devices_;
  runtime::Pipeline pipeline_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> num_sleeping_ = 0;  ///< threads that sleep, or are about to
  runtime::WaitingLine<> line_;
  std::vector<std::size_t> free_slots_;
  std::size_t in_flight_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace sluice::session
