// What a model did since it was loaded: counters and latencies.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/runtime_code.h"
#include "runtime/statistics/histogram.h"
#include "runtime/topology/device_map.h"

namespace sluice::runtime {

/// How many requests ended with each runtime code. Mergeable plain data.
struct CodeCount {
  RuntimeCode code = RuntimeCode::kOk;
  std::int64_t count = 0;
};

/// At one moment.
struct ModelStatisticsSnapshot {
  std::int64_t accepted = 0;        ///< requests taken
  std::int64_t refused = 0;         ///< requests not taken
  std::vector<CodeCount> answered;  ///< by code; those that occurred, kOk included
  std::int64_t started = 0;         ///< how often the model was started
  std::int64_t busy_ns = 0;         ///< time in which at least one stage ran
  /// Kernels' time, times the cores of the segment that they ran on.
  std::map<DeviceId, std::int64_t> core_busy_ns;
  HistogramSnapshot queue;  ///< from submission to the first stage
  HistogramSnapshot copy;   ///< in and out
  HistogramSnapshot compute;
  HistogramSnapshot total;  ///< from submission to answer

  void merge(const ModelStatisticsSnapshot& other);
  std::int64_t num_answered() const;
  std::int64_t num_errors() const;
};

/// Times of a request that was answered.
struct RequestTimes {
  std::int64_t queue_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t total_ns = 0;
};

/// Cores that a lane of a pipeline keeps busy.
struct LaneCores {
  DeviceId device;
  std::int32_t num_cores = 0;
};

/// Written by whoever drives the model, one thread at a time; `count_refused` and `count_start` by
/// any. Read by any thread, without a lock.
class ModelStatistics {
 public:
  /// `lanes`: by lane of the model's pipeline, the cores on each device; none for copies.
  explicit ModelStatistics(std::vector<std::vector<LaneCores>> lanes = {});

  void count_accepted() { accepted_.fetch_add(1, std::memory_order_relaxed); }
  void count_refused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  void count_start() { started_.fetch_add(1, std::memory_order_relaxed); }
  void count_answer(RuntimeCode code) {
    answered_[index_of(code)].fetch_add(1, std::memory_order_relaxed);
  }
  /// Of a request that ran to its end.
  void record(const RequestTimes& times);
  void add_busy(std::int64_t duration_ns);
  /// A stage ran so long on its lane.
  void add_lane_busy(std::size_t lane, std::int64_t duration_ns);

  ModelStatisticsSnapshot snapshot() const;

 private:
  static std::size_t index_of(RuntimeCode code);

  std::atomic<std::int64_t> accepted_ = 0;
  std::atomic<std::int64_t> refused_ = 0;
  std::atomic<std::int64_t> started_ = 0;
  std::atomic<std::int64_t> busy_ns_ = 0;
  std::array<std::atomic<std::int64_t>, 16> answered_ = {};
  Histogram queue_;
  Histogram copy_;
  Histogram compute_;
  Histogram total_;
  const std::vector<std::vector<LaneCores>> lanes_;
  std::vector<std::atomic<std::int64_t>> lane_busy_ns_;  ///< by lane; never resized
};

}  // namespace sluice::runtime
