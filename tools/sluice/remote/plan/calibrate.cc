#include "sluice/remote/plan/calibrate.h"

#include <algorithm>
#include <cmath>
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

/// Parts of a load's time that probes take in each round.
constexpr double kBusyShare = 0.5;
constexpr double kOtherShare = 0.25;

/// What the daemon computed in a time, and what the load generator saw.
struct Probe {
  std::vector<terms::Latency::Bucket> compute;
  std::int64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t num_joined = 0;  ///< requests that ran together with others
  perf::Window window;
  int num_probes = 0;  ///< that this is the sum of

  double mean_ns() const {
    return static_cast<double>(sum_ns) / static_cast<double>(std::max<std::int64_t>(count, 1));
  }
  /// From one run to the next, each of so many requests. A probe begins with an idle model, and its
  /// end cuts half a run on average.
  double interval_ns(int requests_of_run) const {
    const auto answered = static_cast<double>(window.latencies_ns.size());
    const double num_runs = answered / requests_of_run + 0.5 * num_probes;
    return static_cast<double>(window.duration_ns) / std::max(num_runs, 0.5);
  }
  void add(const Probe& more);
};

void Probe::add(const Probe& more) {
  compute.insert(compute.end(), more.compute.begin(), more.compute.end());
  compute = fleet::added_since({}, compute);
  count += more.count;
  sum_ns += more.sum_ns;
  num_joined += more.num_joined;
  const perf::Window windows[] = {std::move(window), more.window};
  window = perf::merge(windows);
  num_probes += more.num_probes;
}

/// Requests of so many rows, one at a time.
struct AloneProbe {
  std::int32_t rows = 1;
  LoadedTarget to;
  Probe probe;
};

class Calibrator {
 public:
  Calibrator(rpc::client::Client& client, const PerfTarget& to, const CalibrationPlan& plan)
      : client_(client), to_(to), plan_(plan) {}

  Result<fleet::CalibratedModel> run() {
    SLUICE_TRY(find());
    SLUICE_TRY(open());
    SLUICE_TRY(probe_all());
    SLUICE_TRY(check_joining());
    choose_loads();
    const LoadedTarget hurried = SLUICE_TRY(to_.load(deadline_ns_, one_row()));
    std::vector<std::vector<perf::Window>> windows(plan_.loads.size());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < windows.size(); ++i) {
        windows[i].push_back(SLUICE_TRY(measure_load(*hurried.target, i, round)));
      }
      SLUICE_TRY(probe_all());
    }
    take_times();
    for (std::size_t i = 0; i < windows.size(); ++i) {
      SLUICE_TRY(compare(perf::merge(windows[i]), i));
    }
    return std::move(model_);
  }

 private:
  bool is_joined() const { return plan_.batch_rows > 1; }
  /// As PerfTarget::load has it.
  std::int64_t one_row() const { return is_joined() ? 1 : 0; }

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

  /// Connects a target for each kind of probe.
  Status open() {
    one_ = SLUICE_TRY(to_.load(kPatienceNs, one_row()));
    for (std::int32_t rows = 1; rows < plan_.batch_rows; rows *= 2) SLUICE_TRY(open_alone(rows));
    SLUICE_TRY(open_alone(plan_.batch_rows));
    if (is_joined()) whole_ = SLUICE_TRY(to_.load(kPatienceNs, plan_.batch_rows));
    return ok_status();
  }

  Status open_alone(std::int32_t rows) {
    alone_.push_back({rows, SLUICE_TRY(to_.load(kPatienceNs, is_joined() ? rows : 0)), {}});
    return ok_status();
  }

  /// Requests that keep all slots busy with full runs.
  int crowd() const {
    if (!is_joined()) return model_.depth + 1;
    const std::int64_t in_slots = std::int64_t{model_.depth} * plan_.batch_rows;
    return static_cast<int>(std::min(2 * in_slots, in_slots + model_.queue_limit));
  }

  Status probe_all() {
    for (AloneProbe& alone : alone_) {
      const double share = kOtherShare / static_cast<double>(alone_.size());
      alone.probe.add(SLUICE_TRY(probe(*alone.to.target, 1, share)));
    }
    busy_.add(SLUICE_TRY(probe(*one_.target, crowd(), kBusyShare)));
    if (!is_joined()) return ok_status();
    full_.add(SLUICE_TRY(probe(*whole_.target, model_.depth + 1, kOtherShare)));
    return ok_status();
  }

  Result<terms::ModelStatistics> statistics() {
    auto all = SLUICE_TRY(client_.statistics(handle_));
    if (all.empty()) return make_error(Code::kNotFound, "the model was unloaded");
    return std::move(all.front());
  }

  /// So many requests all the time, for a share of what a load has in a round.
  Result<Probe> probe(perf::Target& target, int concurrency, double share) {
    const terms::ModelStatistics before = SLUICE_TRY(statistics());
    perf::MeasureOptions options;
    options.window_ns = nanoseconds_of(plan_.seconds / kRounds * share / perf::kStableWindows);
    options.max_windows = perf::kStableWindows;
    const auto measured = SLUICE_TRY(perf::measure(target, {.concurrency = concurrency}, options));
    const terms::ModelStatistics after = SLUICE_TRY(statistics());
    if (measured.figures.num_failed > 0) {
      return measured.figures.first_error.with_context("a request without a deadline");
    }
    Probe probe;
    probe.compute = fleet::added_since(before.compute.buckets, after.compute.buckets);
    probe.count = after.compute.count - before.compute.count;
    probe.sum_ns = after.compute.sum_ns - before.compute.sum_ns;
    probe.num_joined = after.joined - before.joined;
    probe.window = measured.figures;
    probe.num_probes = 1;
    if (probe.compute.empty() || probe.sum_ns <= 0) {
      return make_error(
          Code::kFailedPrecondition,
          "the daemon sent no histogram of run times: it is of a version before 1.14, "
          "or answers without running the model");
    }
    return probe;
  }

  /// What the options say of joining is what the daemon does.
  Status check_joining() const {
    if (is_joined() == (busy_.num_joined > 0)) return ok_status();
    if (is_joined()) {
      return make_error(Code::kFailedPrecondition,
                        "model \"{}\" joined no requests: load it with --batch-rows {}, or leave "
                        "that out here",
                        model_.name, plan_.batch_rows);
    }
    return make_error(Code::kFailedPrecondition,
                      "model \"{}\" joins requests: add --batch-rows and --max-delay, as it was "
                      "loaded",
                      model_.name);
  }

  void choose_loads() {
    const double run_ns = busy_.interval_ns(plan_.batch_rows);
    deadline_ns_ = plan_.deadline_ns > 0 ? plan_.deadline_ns
                                         : kRunsToDeadline * std::max(std::llround(run_ns), 1LL);
    const double rows_per_second = plan_.batch_rows * kNsPerSecond / run_ns;
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

  void take_times() {
    const auto whole_ns = [](double ns) { return std::max<std::int64_t>(std::llround(ns), 0); };
    model_.compute = busy_.compute;
    model_.compute_ns = whole_ns(busy_.mean_ns());
    const double gap_ns = std::max(busy_.interval_ns(plan_.batch_rows) - busy_.mean_ns(), 0.0);
    model_.gap_ns = whole_ns(gap_ns);
    const AloneProbe& single = alone_.front();
    if (is_joined()) {
      const double full_gap_ns = std::clamp(full_.interval_ns(1) - full_.mean_ns(), 0.0, gap_ns);
      model_.gap_ns = whole_ns(full_gap_ns);
      model_.request_ns = whole_ns((gap_ns - full_gap_ns) / (plan_.batch_rows - 1));
      // A busy machine's runs take longer than those of an idle one.
      const double slowness = busy_.mean_ns() / alone_.back().probe.mean_ns();
      for (const AloneProbe& alone : alone_) {
        if (alone.rows == plan_.batch_rows) continue;
        const std::int64_t run_ns = whole_ns(slowness * alone.probe.mean_ns());
        model_.row_times.push_back({alone.rows, std::max<std::int64_t>(run_ns, 1)});
      }
    }
    const double inside_ns =
        single.probe.mean_ns() + static_cast<double>(model_.gap_ns + model_.max_delay_ns);
    model_.overhead_ns =
        whole_ns(static_cast<double>(single.probe.window.latency_ns(0.5)) - inside_ns);
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
  LoadedTarget one_;               ///< requests of one row
  LoadedTarget whole_;             ///< of a joined model: of as many as a run takes
  std::vector<AloneProbe> alone_;  ///< of 1, 2, 4 ... rows, and of as many as a run takes
  Probe busy_;                     ///< by requests of one row
  Probe full_;                     ///< by requests that fill a run each
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
