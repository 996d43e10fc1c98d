#include "sluice/remote/plan/calibrate.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "fleet/service_times.h"
#include "fleet/simulation.h"
#include "perf/arrival_times.h"
#include "perf/measure.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr std::int64_t kPatienceNs = 60'000'000'000;
constexpr std::int64_t kRunsToDeadline = 10;
/// Loads and probes take turns, as a machine with other work becomes slower and faster.
constexpr int kRounds = 10;

/// What the daemon computed in a time, and what the load generator saw.
struct Probe {
  std::vector<terms::Latency::Bucket> compute;
  std::int64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t p50_ns = 0;  ///< of the generator
  double duration_s = 0;
  double num_answered = 0;

  std::int64_t mean_ns() const { return sum_ns / std::max<std::int64_t>(count, 1); }
  /// From one run to the next.
  std::int64_t interval_ns() const {
    return static_cast<std::int64_t>(duration_s * kNsPerSecond / std::max(num_answered, 1.0));
  }
  void add(const Probe& more);
};

void Probe::add(const Probe& more) {
  compute.insert(compute.end(), more.compute.begin(), more.compute.end());
  compute = fleet::added_since({}, compute);
  count += more.count;
  sum_ns += more.sum_ns;
  p50_ns = more.p50_ns;
  duration_s += more.duration_s;
  num_answered += more.num_answered;
}

class Calibrator {
 public:
  Calibrator(rpc::client::Client& client, const PerfTarget& to, const CalibrationPlan& plan)
      : client_(client), to_(to), plan_(plan) {}

  Result<fleet::CalibratedModel> run() {
    SLUICE_TRY(find());
    const LoadedTarget one = SLUICE_TRY(to_.load(kPatienceNs, is_joined() ? 1 : 0));
    const Probe alone = SLUICE_TRY(probe(*one.target, 1));
    const LoadedTarget full = SLUICE_TRY(to_.load(kPatienceNs, is_joined() ? plan_.batch_rows : 0));
    Probe busy = SLUICE_TRY(probe(*full.target, model_.depth + 1));
    choose_loads(busy);
    const LoadedTarget hurried = SLUICE_TRY(to_.load(deadline_ns_, is_joined() ? 1 : 0));
    std::vector<std::vector<perf::Window>> windows(plan_.loads.size());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < windows.size(); ++i) {
        windows[i].push_back(SLUICE_TRY(measure_load(*hurried.target, i, round)));
      }
      busy.add(SLUICE_TRY(probe(*full.target, model_.depth + 1)));
    }
    take_times(alone, busy);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      SLUICE_TRY(compare(perf::merge(windows[i]), i));
    }
    return std::move(model_);
  }

 private:
  bool is_joined() const { return plan_.batch_rows > 1; }

  Status find() {
    handle_ = SLUICE_TRY(find_model(client_, to_.model.name));
    const auto entries = SLUICE_TRY(client_.list_models(handle_));
    if (entries.empty()) return make_error(Code::kNotFound, "the model was unloaded");
    const terms::ModelInfo& info = entries.front().info;
    model_.name = to_.model.name;
    model_.depth = info.depth;
    model_.queue_limit = info.queue_limit;
    model_.batch_rows = plan_.batch_rows;
    model_.max_delay_ns = plan_.max_delay_ns;
    model_.memory_bytes = info.footprint.total_bytes();
    model_.load_ns = plan_.load_ns;
    return ok_status();
  }

  Result<terms::Latency> computed() {
    const auto all = SLUICE_TRY(client_.statistics(handle_));
    if (all.empty()) return make_error(Code::kNotFound, "the model was unloaded");
    return all.front().compute;
  }

  /// So many requests all the time, for half as long as a load has in a round.
  Result<Probe> probe(perf::Target& target, int concurrency) {
    const terms::Latency before = SLUICE_TRY(computed());
    perf::MeasureOptions options;
    options.window_ns = nanoseconds_of(plan_.seconds / kRounds / 2 / perf::kStableWindows);
    options.max_windows = perf::kStableWindows;
    const auto measured = SLUICE_TRY(perf::measure(target, {.concurrency = concurrency}, options));
    const terms::Latency after = SLUICE_TRY(computed());
    if (measured.figures.num_failed > 0) {
      return measured.figures.first_error.with_context("a request without a deadline");
    }
    Probe probe;
    probe.compute = fleet::added_since(before.buckets, after.buckets);
    probe.count = after.count - before.count;
    probe.sum_ns = after.sum_ns - before.sum_ns;
    probe.p50_ns = measured.figures.latency_ns(0.5);
    probe.duration_s = static_cast<double>(measured.figures.duration_ns) / kNsPerSecond;
    probe.num_answered = static_cast<double>(measured.figures.latencies_ns.size());
    if (probe.compute.empty() || probe.sum_ns <= 0) {
      return make_error(
          Code::kFailedPrecondition,
          "the daemon sent no histogram of run times: it is of a version before 1.14, "
          "or answers without running the model");
    }
    return probe;
  }

  void choose_loads(const Probe& busy) {
    const std::int64_t interval_ns = std::max<std::int64_t>(busy.interval_ns(), 1);
    deadline_ns_ = plan_.deadline_ns > 0 ? plan_.deadline_ns : kRunsToDeadline * interval_ns;
    const double rows_per_second =
        plan_.batch_rows * kNsPerSecond / static_cast<double>(interval_ns);
    for (const double share : plan_.loads) rates_.push_back(share * rows_per_second);
  }

  std::int64_t round_ns() const { return nanoseconds_of(plan_.seconds / kRounds); }

  /// Those of a round, since its start.
  std::shared_ptr<const std::vector<std::int64_t>> arrivals_of(std::size_t load, int round) const {
    auto arrivals = std::make_shared<std::vector<std::int64_t>>();
    perf::ArrivalTimes times(rates_[load], /*is_poisson=*/true, plan_.seed + load);
    const std::int64_t begin_ns = round * round_ns();
    std::int64_t due_ns = times.next_ns();
    for (; due_ns < begin_ns + round_ns(); due_ns = times.next_ns()) {
      if (due_ns >= begin_ns) arrivals->push_back(due_ns - begin_ns);
    }
    return arrivals;
  }

  Result<perf::Window> measure_load(perf::Target& target, std::size_t load, int round) {
    perf::LoadForm form;
    form.arrivals_ns = arrivals_of(load, round);
    // What the client does not send, the daemon cannot refuse.
    form.max_in_flight = 1 << 20;
    const auto measured = SLUICE_TRY(perf::measure(target, form, {}));
    // Once for each load: what follows is alike.
    if (!measured.limit.empty() && limited_.insert(load).second) {
      fmt::print(stderr, "{:.1f}/s: the load generator was the bottleneck: {}\n", rates_[load],
                 measured.limit);
    }
    return measured.figures;
  }

  void take_times(const Probe& alone, const Probe& busy) {
    // The daemon joins requests that wait, so single rows are measured one at a time.
    const Probe& base = is_joined() ? alone : busy;
    model_.compute = base.compute;
    model_.compute_ns = base.mean_ns();
    if (is_joined()) {
      const std::int64_t more_ns = busy.mean_ns() - alone.mean_ns();
      model_.row_ns = std::max<std::int64_t>(more_ns / (plan_.batch_rows - 1), 0);
    }
    model_.gap_ns = std::max<std::int64_t>(busy.interval_ns() - busy.mean_ns(), 0);
    const std::int64_t inside_ns = alone.mean_ns() + model_.gap_ns + model_.max_delay_ns;
    model_.overhead_ns = std::max<std::int64_t>(alone.p50_ns - inside_ns, 0);
  }

  Status compare(const perf::Window& measured, std::size_t load) {
    fleet::Trace trace;
    trace.models = {model_.name};
    // Each round began when the one before was answered.
    const std::int64_t apart_ns = round_ns() + 2 * deadline_ns_;
    for (int round = 0; round < kRounds; ++round) {
      const auto arrivals = arrivals_of(load, round);
      for (const std::int64_t due_ns : *arrivals) {
        trace.arrivals.push_back({round * apart_ns + due_ns, 0, 1, deadline_ns_});
      }
    }
    if (trace.arrivals.empty()) {
      return make_error(Code::kFailedPrecondition, "no request in {:g} s; take more seconds",
                        plan_.seconds);
    }
    const fleet::SimulatedModel simulated = {
        model_, SLUICE_TRY(fleet::ServiceTimes::create(model_.compute, model_.compute_ns))};
    const auto outcome = SLUICE_TRY(fleet::simulate({&simulated}, trace, {}));
    fleet::CalibrationRun run;
    run.per_second = rates_[load];
    run.deadline_ns = deadline_ns_;
    run.num_requests = std::ssize(trace.arrivals);
    run.seed = plan_.seed + load;
    const auto num_answered = static_cast<double>(measured.latencies_ns.size());
    run.measured = {measured.latency_ns(0.5), measured.latency_ns(0.99),
                    1 - num_answered / static_cast<double>(run.num_requests)};
    run.simulated = outcome.figures();
    model_.runs.push_back(run);
    return ok_status();
  }

  rpc::client::Client& client_;
  const PerfTarget& to_;
  const CalibrationPlan& plan_;
  std::uint64_t handle_ = 0;
  fleet::CalibratedModel model_;
  std::int64_t deadline_ns_ = 0;
  std::vector<double> rates_;  ///< by load
  std::set<std::size_t> limited_;
};

}  // namespace

Result<fleet::CalibratedModel> calibrate(rpc::client::Client& client, const PerfTarget& to,
                                         const CalibrationPlan& plan) {
  return Calibrator(client, to, plan).run();
}

}  // namespace sluice::tool
