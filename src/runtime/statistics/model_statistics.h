// Counters and latencies of a model since its load.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/statistics/histogram.h"
#include "terms/server/statistics.h"

namespace sluice::runtime {

/// Mergeable plain data.
struct ModelStatisticsSnapshot {
  std::int64_t accepted = 0;               ///< requests
  std::int64_t refused = 0;                ///< requests
  std::int64_t waiting = 0;                ///< requests beyond the model's slots now
  std::int64_t max_waiting = 0;            ///< the largest `waiting` since the load
  std::vector<terms::CodeCount> answered;  ///< by code, kOk included; no zeros
  std::int64_t started = 0;                ///< number of starts
  std::int64_t joined = 0;                 ///< requests that ran together with others
  std::int64_t busy_ns = 0;                ///< time with at least one running stage
  std::int64_t recorded_bytes = 0;         ///< kept for shapes of earlier requests, by all slots
  /// Kernel time multiplied by the cores of the segment.
  std::map<terms::DeviceId, std::int64_t> core_busy_ns;
  HistogramSnapshot queue;  ///< from submission to the first stage
  HistogramSnapshot copy;   ///< in and out, of requests whose copies are stages of their own
  HistogramSnapshot compute;
  HistogramSnapshot total;                       ///< from submission to answer
  std::int64_t copy_out_ns = 0;                  ///< of `copy`, that of outputs
  std::map<std::int64_t, terms::RunCount> runs;  ///< by rows
  std::int64_t last_run_ns = 0;                  ///< when the last run ended; 0: none did

  void merge(const ModelStatisticsSnapshot& other);
  std::int64_t num_answered() const;
  std::int64_t num_runs() const;
  /// Rows of all runs together; at least one of each.
  std::int64_t num_rows() const;
  /// Accepted requests that neither wait nor have been answered. The counters are read one after
  /// another, so the figure may be off by those that move meanwhile; never negative.
  std::int64_t num_running() const;
};

/// What clients are told of it; without the model's handle and name, and without buckets.
terms::ModelStatistics summary_of(const ModelStatisticsSnapshot& snapshot);

/// Times of a request that was answered.
struct RequestTimes {
  std::int64_t queue_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t total_ns = 0;
  std::int64_t copy_out_ns = 0;  ///< of `copy_ns`, that of outputs
  bool has_copies = false;       ///< the request had a stage for copies
};

/// Cores on which a lane of a pipeline runs.
struct LaneCores {
  terms::DeviceId device;
  std::int32_t num_cores = 0;
};

/// The driver writes, one thread at a time; any thread may call `count_refused`, `refuse_accepted`
/// and `count_start`. Any thread reads, without a lock.
class ModelStatistics {
 public:
  /// `lanes`: the cores on each device by lane of the pipeline; none for copy lanes.
  explicit ModelStatistics(std::vector<std::vector<LaneCores>> lanes = {});

  void count_accepted() { accepted_.fetch_add(1, std::memory_order_relaxed); }
  void count_refused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  /// Counts an accepted request as a refused one, because it could not be handed to its worker.
  void refuse_accepted() {
    accepted_.fetch_sub(1, std::memory_order_relaxed);
    count_refused();
  }
  void count_joined(std::int64_t num_requests) {
    joined_.fetch_add(num_requests, std::memory_order_relaxed);
  }
  void count_start() { started_.fetch_add(1, std::memory_order_relaxed); }
  void count_answer(RuntimeCode code) {
    answered_[index_of(code)].fetch_add(1, std::memory_order_relaxed);
  }
  /// Requires: a lock serialises callers, because the maximum is read and then written.
  void set_waiting(std::int64_t count) {
    waiting_.store(count, std::memory_order_relaxed);
    if (count > max_waiting_.load(std::memory_order_relaxed)) {
      max_waiting_.store(count, std::memory_order_relaxed);
    }
  }
  std::int64_t recorded_bytes() const { return recorded_bytes_.load(std::memory_order_relaxed); }
  void set_recorded_bytes(std::int64_t bytes) {
    recorded_bytes_.store(bytes, std::memory_order_relaxed);
  }
  /// Records a request that ran to its end.
  void record(const RequestTimes& times);
  /// Records a run of one or several requests; its times may be those of several passes.
  void record_run(std::int64_t rows, std::int64_t num_passes, const RequestTimes& times,
                  std::int64_t now_ns);
  void add_busy(std::int64_t duration_ns);
  /// Adds the duration of a stage to its lane.
  void add_lane_busy(std::size_t lane, std::int64_t duration_ns);

  ModelStatisticsSnapshot snapshot() const;

 private:
  static std::size_t index_of(RuntimeCode code);

  std::atomic<std::int64_t> accepted_ = 0;
  std::atomic<std::int64_t> refused_ = 0;
  std::atomic<std::int64_t> waiting_ = 0;
  std::atomic<std::int64_t> max_waiting_ = 0;
  std::atomic<std::int64_t> started_ = 0;
  std::atomic<std::int64_t> joined_ = 0;
  std::atomic<std::int64_t> busy_ns_ = 0;
  std::atomic<std::int64_t> recorded_bytes_ = 0;
  std::array<std::atomic<std::int64_t>, 16> answered_ = {};
  Histogram queue_;
  Histogram copy_;
  Histogram compute_;
  Histogram total_;
  std::atomic<std::int64_t> copy_out_ns_ = 0;
  mutable std::mutex runs_mutex_;  ///< a leaf
  std::map<std::int64_t, terms::RunCount> runs_;
  std::int64_t last_run_ns_ = 0;
  const std::vector<std::vector<LaneCores>> lanes_;
  std::vector<std::atomic<std::int64_t>> lane_busy_ns_;  ///< by lane; never resized
};

}  // namespace sluice::runtime
