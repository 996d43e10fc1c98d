// A model that runs in a worker, as the daemon's requests see it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/inference/group_scheduler.h"
#include "runtime/line/completion_pace.h"
#include "runtime/model/model.h"
#include "runtime/request/request.h"
#include "runtime/statistics/model_statistics.h"
#include "worker/link/link.h"
#include "worker/reply.h"

namespace sluice::worker {

/// The link to a group's worker, empty while no worker serves. Safe across threads.
class LinkSlot {
 public:
  void set(std::shared_ptr<WorkerLink> link) {
    const std::lock_guard lock(mutex_);
    link_ = std::move(link);
  }
  /// The group has no worker from now on; `why`: the error of requests until `set`.
  void clear(const Status& why) {
    const std::lock_guard lock(mutex_);
    link_ = nullptr;
    why_ = why;
  }
  Result<std::shared_ptr<WorkerLink>> get() const {
    const std::lock_guard lock(mutex_);
    if (link_ != nullptr) return link_;
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<WorkerLink> link_;
  Status why_;
};

/// Survives the death of its worker, with phase, package and statistics. `submit` copies the inputs
/// to the worker's memory, so a cancelled or expired request is answered at once. Outputs lie in
/// that memory until the caller drops them.
class RemoteModel final : public runtime::RequestSink,
                          public std::enable_shared_from_this<RemoteModel> {
 public:
  struct Parts {
    terms::ModelInfo info;  ///< without handle and phase
    terms::Signature signature;
    std::int64_t batch_rows = 1;            ///< of a joined run
    shm::Fd package;                        ///< for loading it again,
    bool keeps_code = false;                ///< with the code of devices that it holds, and
    terms::LoadOptions load;                ///< how
    terms::ReplyDetail where;               ///< group and cores
    std::vector<runtime::LaneCores> cores;  ///< of the group, which a request keeps busy
    std::vector<topology::MemoryLease> memory;
    std::shared_ptr<LinkSlot> link;
  };
  explicit RemoteModel(Parts parts);

  // ---- for WorkerGroup, one call at a time

  const Parts& parts() const { return parts_; }
  const std::string& name() const { return parts_.info.name; }
  terms::ModelInfo info() const;
  terms::ModelPhase phase() const;
  /// The model has this handle in the worker that lives now.
  void set_worker_model(std::uint64_t handle) { worker_model_ = handle; }
  std::uint64_t worker_model() const { return worker_model_; }
  /// Requests are refused unless it is started; `kFailed` with what made it so.
  void set_phase(terms::ModelPhase phase, const std::string& why = "");
  void count_start() { statistics_->count_start(); }
  /// No request is taken any more; those in flight are answered with kCancelled. Frees the package.
  void retire();
  const std::shared_ptr<runtime::ModelStatistics>& statistics() const { return statistics_; }

  // ---- for requests

  const terms::Signature& signature() const override { return parts_.signature; }
  int depth() const override { return parts_.info.depth * static_cast<int>(parts_.batch_rows); }
  std::int64_t batch_rows() const override { return parts_.batch_rows; }
  Clock& clock() const override { return system_clock(); }
  Result<std::uint64_t> submit(runtime::Request& request) override;
  bool is_full() const override;
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  void tell_waiters() override;

 private:
  struct Flight {
    std::function<void(runtime::Reply)> on_done;
    bool wants_detail = false;
    std::int64_t start_ns = 0;    ///< of the request's wait
    std::int64_t entered_ns = 0;  ///< it came here
    std::weak_ptr<WorkerLink> link;
    std::uint64_t link_id = 0;
  };

  Status check(const runtime::Request& request) const;
  int num_waiting() const;
  bool has_no_place() const;
  Result<std::uint64_t> enter(runtime::Request& request);
  Status send(std::uint64_t id, const runtime::Request& request);
  std::optional<Flight> leave(std::uint64_t id);
  void take(std::uint64_t id, Answer answer);
  void answer(const Flight& flight, runtime::Reply reply);
  void record(const Flight& flight, RuntimeCode code, const ToldNumbers* numbers);

  Parts parts_;
  const std::shared_ptr<runtime::ModelStatistics> statistics_;
  std::mutex statistics_mutex_;
  ToldTimes told_;
  std::atomic<std::uint64_t> worker_model_ = 0;
  std::atomic<std::int64_t> room_bytes_;  ///< size of the largest answer so far

  mutable std::mutex mutex_;
  std::condition_variable heard_;
  std::uint64_t num_told_ = 0;
  terms::ModelPhase phase_ = terms::ModelPhase::kLoaded;
  Status refusal_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Flight> flights_;
  runtime::CompletionPace pace_;
};

}  // namespace sluice::worker
