#include "runtime/statistics/model_statistics.h"

#include <algorithm>
#include <utility>

#include "runtime/statistics/counter.h"
#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

/// Numbers of rows that are counted apart: clients choose them.
constexpr std::size_t kMaxRunSizes = 64;

void add_run(std::map<std::int64_t, terms::RunCount>& runs, const terms::RunCount& run) {
  const bool has_room = runs.size() < kMaxRunSizes || runs.contains(run.rows);
  const std::int64_t rows = has_room ? run.rows : 0;
  terms::RunCount& sum = runs[rows];
  sum.rows = rows;
  sum.count += run.count;
  sum.copy_in_ns += run.copy_in_ns;
  sum.compute_ns += run.compute_ns;
  sum.copy_out_ns += run.copy_out_ns;
}

}  // namespace

void ModelStatisticsSnapshot::merge(const ModelStatisticsSnapshot& other) {
  accepted += other.accepted;
  refused += other.refused;
  waiting += other.waiting;
  // The peaks of two models need not have coincided, so their sum would be an invention.
  max_waiting = std::max(max_waiting, other.max_waiting);
  started += other.started;
  joined += other.joined;
  busy_ns += other.busy_ns;
  recorded_bytes += other.recorded_bytes;
  queue.merge(other.queue);
  copy.merge(other.copy);
  compute.merge(other.compute);
  total.merge(other.total);
  copy_out_ns += other.copy_out_ns;
  for (const auto& [rows, run] : other.runs) add_run(runs, run);
  last_run_ns = std::max(last_run_ns, other.last_run_ns);
  for (const auto& [device, theirs_ns] : other.core_busy_ns) core_busy_ns[device] += theirs_ns;
  for (const terms::CodeCount& theirs : other.answered) {
    // A list of at most sixteen codes: a search is as quick as a table.
    const auto mine = std::ranges::find(answered, theirs.code, &terms::CodeCount::code);
    if (mine == answered.end()) {
      answered.push_back(theirs);
    } else {
      mine->count += theirs.count;
    }
  }
}

std::int64_t ModelStatisticsSnapshot::num_answered() const {
  std::int64_t total_count = 0;
  for (const terms::CodeCount& entry : answered) total_count += entry.count;
  return total_count;
}

std::int64_t ModelStatisticsSnapshot::num_runs() const {
  std::int64_t total_count = 0;
  for (const auto& [rows, run] : runs) total_count += run.count;
  return total_count;
}

std::int64_t ModelStatisticsSnapshot::num_rows() const {
  std::int64_t total_rows = 0;
  for (const auto& [rows, run] : runs) total_rows += std::max<std::int64_t>(rows, 1) * run.count;
  return total_rows;
}

std::int64_t ModelStatisticsSnapshot::num_running() const {
  return std::max<std::int64_t>(0, accepted - num_answered() - waiting);
}

ModelStatistics::ModelStatistics(std::vector<std::vector<LaneCores>> lanes)
    : lanes_(std::move(lanes)), lane_busy_ns_(lanes_.size()) {}

void ModelStatistics::add_lane_busy(std::size_t lane, std::int64_t duration_ns) {
  // Each counter has one writer, the lane's thread, so no atomic addition is needed.
  if (lane < lane_busy_ns_.size()) add_alone(lane_busy_ns_[lane], duration_ns);
}

std::size_t ModelStatistics::index_of(RuntimeCode code) {
  const auto number = static_cast<std::size_t>(code);
  // Codes are 0 to 10 and 1000 to 1004: two dense ranges in one array.
  return number <= 10 ? number : number - 1000 + 11;
}

void ModelStatistics::record(const RequestTimes& times) {
  queue_.record(times.queue_ns);
  if (times.has_copies) copy_.record(times.copy_ns);
  compute_.record(times.compute_ns);
  total_.record(times.total_ns);
  add_alone(copy_out_ns_, times.copy_out_ns);
}

void ModelStatistics::record_run(std::int64_t rows, std::int64_t num_passes,
                                 const RequestTimes& times, std::int64_t now_ns) {
  const std::lock_guard lock(runs_mutex_);
  add_run(runs_, {rows, num_passes, times.copy_ns - times.copy_out_ns, times.compute_ns,
                  times.copy_out_ns});
  last_run_ns_ = now_ns;
}

void ModelStatistics::add_busy(std::int64_t duration_ns) { add_alone(busy_ns_, duration_ns); }

ModelStatisticsSnapshot ModelStatistics::snapshot() const {
  ModelStatisticsSnapshot snapshot;
  // Each number is exact, but they are of slightly different moments: no lock stops the writer.
  snapshot.accepted = accepted_.load(std::memory_order_relaxed);
  snapshot.refused = refused_.load(std::memory_order_relaxed);
  snapshot.waiting = waiting_.load(std::memory_order_relaxed);
  snapshot.max_waiting = max_waiting_.load(std::memory_order_relaxed);
  snapshot.started = started_.load(std::memory_order_relaxed);
  snapshot.joined = joined_.load(std::memory_order_relaxed);
  snapshot.busy_ns = busy_ns_.load(std::memory_order_relaxed);
  snapshot.recorded_bytes = this->recorded_bytes();
  for (const terms::RuntimeCodeInfo& info : terms::runtime_codes()) {
    const std::int64_t count = answered_[index_of(info.code)].load(std::memory_order_relaxed);
    if (count > 0) snapshot.answered.push_back({info.code, count});
  }
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const std::int64_t busy_ns = lane_busy_ns_[lane].load(std::memory_order_relaxed);
    for (const LaneCores& cores : lanes_[lane]) {
      // A lane occupies all its cores while it is busy.
      snapshot.core_busy_ns[cores.device] += busy_ns * cores.num_cores;
    }
  }
  snapshot.queue = queue_.snapshot();
  snapshot.copy = copy_.snapshot();
  snapshot.compute = compute_.snapshot();
  snapshot.total = total_.snapshot();
  snapshot.copy_out_ns = copy_out_ns_.load(std::memory_order_relaxed);
  const std::lock_guard lock(runs_mutex_);
  snapshot.runs = runs_;
  snapshot.last_run_ns = last_run_ns_;
  return snapshot;
}

terms::ModelStatistics summary_of(const ModelStatisticsSnapshot& snapshot) {
  const auto latency_of = [](const HistogramSnapshot& times) {
    return terms::Latency{times.count(),          times.sum_ns(),          times.quantile_ns(0.5),
                          times.quantile_ns(0.9), times.quantile_ns(0.99), times.max_ns()};
  };
  terms::ModelStatistics summary;
  summary.accepted = snapshot.accepted;
  summary.refused = snapshot.refused;
  summary.waiting = snapshot.waiting;
  summary.max_waiting = snapshot.max_waiting;
  summary.answered = snapshot.answered;
  summary.num_starts = snapshot.started;
  summary.busy_ns = snapshot.busy_ns;
  summary.queue = latency_of(snapshot.queue);
  summary.copy = latency_of(snapshot.copy);
  summary.compute = latency_of(snapshot.compute);
  summary.total = latency_of(snapshot.total);
  summary.recorded_bytes = snapshot.recorded_bytes;
  summary.joined = snapshot.joined;
  summary.copy_out_ns = snapshot.copy_out_ns;
  for (const auto& [rows, run] : snapshot.runs) summary.runs.push_back(run);
  return summary;
}

}  // namespace sluice::runtime
