// A request in flight, shared by the thread that submits it and whoever cancels it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "dispatch/model_ref.h"
#include "dispatch/request_quota.h"
#include "telemetry/observation.h"

namespace sluice::dispatch {

/// Made by a FlightTable, which also submits it. Any thread may cancel at any time.
class Flight {
 public:
  Flight(std::uint64_t id, std::shared_ptr<ModelRef> model,
         std::shared_ptr<telemetry::Observation> observation)
      : id_(id),
        model_(std::move(model)),
        observation_(std::move(observation)),
        start_ns_(model_->clock().now_ns()) {}

  const ModelRef& model() const { return *model_; }
  /// Whether the thread that brings the request computes it: FlightTable::compute, else `post`.
  bool is_for_this_thread() const { return is_for_this_thread_; }
  /// The model answers with kCancelled if it has not answered yet. A cancel that comes before the
  /// submission takes effect right after it.
  void cancel() {
    is_cancelled_.store(true);
    cancel_if_submitted();
  }

 private:
  friend class FlightTable;

  /// `cancel` and `set_sink_id` call this after storing their own flag; with sequentially
  /// consistent stores at least one of them sees both flags.
  void cancel_if_submitted() {
    if (is_submitted_.load() && is_cancelled_.load()) model_->sink().cancel(sink_id_.load());
  }
  void set_sink_id(std::uint64_t id) {
    sink_id_.store(id);
    is_submitted_.store(true);
    cancel_if_submitted();
  }

  const std::uint64_t id_;
  const std::shared_ptr<ModelRef> model_;
  const std::shared_ptr<telemetry::Observation> observation_;  ///< null: nobody observes it
  const std::int64_t start_ns_;
  bool is_for_this_thread_ = false;
  std::shared_ptr<RequestQuota> quota_;          ///< left when it is answered; null: none
  std::function<void(runtime::Reply)> on_done_;  ///< empty where a thread waits for the reply
  std::atomic<bool> is_submitted_ = false;
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<std::uint64_t> sink_id_ = 0;
};

}  // namespace sluice::dispatch
