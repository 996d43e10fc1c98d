#include "compile/tune/tactic_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::compile {
namespace {

/// A comparison needs at least this many rounds.
constexpr std::size_t kLeastRounds = 3;
/// A turn of a model: a run to warm up and as many as this takes, or one long run.
constexpr double kTurnNs = 40e6;
constexpr double kLongRunNs = 100e6;
constexpr int kMaxRuns = 32;
/// Parts of the time box at which phases end.
constexpr double kCompared = 0.55;
constexpr double kConfirmed = 0.75;
/// Groups with a smaller share of the run time are not changed.
constexpr double kLeastShare = 0.002;
/// The least gain, as a share of the whole run.
constexpr double kLeastWholeGain = 0.005;
/// The quantile that is compared. Interference makes times longer, never shorter, so the lower
/// quartile separates tactics after fewer rounds than the median.
constexpr double kQuantile = 0.25;

double quantile(std::vector<double> values, double q) {
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

double typical(const std::vector<double>& values) {
  return values.empty() ? 0 : quantile(values, kQuantile);
}

/// Times of two tactics in the rounds in which both were measured.
struct Pairs {
  std::vector<double> before, after, ratios;

  void add(double before_ns, double after_ns) {
    if (before_ns <= 0 || after_ns <= 0) return;
    before.push_back(before_ns);
    after.push_back(after_ns);
    ratios.push_back(after_ns / before_ns);
  }
  double ratio() const { return ratios.empty() ? 1 : typical(after) / typical(before); }
  /// Whether the gain is at least `least`, and the number of rounds won exceeds chance by
  /// `deviations` standard deviations.
  bool gains(double least, double deviations) const {
    const auto rounds = static_cast<double>(ratios.size());
    const auto won = std::ranges::count_if(ratios, [](double ratio) { return ratio < 1; });
    // Without a difference the number of rounds won is binomial: mean n / 2, deviation sqrt(n) / 2.
    const double needed = std::min(rounds / 2 + deviations * std::sqrt(rounds) / 2, rounds);
    return ratios.size() >= kLeastRounds && ratio() <= 1 - least &&
           static_cast<double>(won) >= needed;
  }
};

class Search {
 public:
  Search(std::span<const int> num_tactics, const MakeTrial& make_trial, const Clock& clock,
         const SearchOptions& options)
      : num_tactics_(num_tactics),
        make_trial_(make_trial),
        clock_(clock),
        options_(options),
        start_ns_(clock.now_ns()) {
    outcome_.groups.resize(num_tactics.size());
  }

  Result<SearchOutcome> run() {
    SLUICE_TRY(compare());
    if (chosen()) SLUICE_TRY(confirm());
    if (chosen()) SLUICE_TRY(compare_whole());
    return std::move(outcome_);
  }

 private:
  using Model = std::unique_ptr<TrialModel>;
  using Times = std::vector<double>;  // by group

  double done() const {
    const double box = std::max(static_cast<double>(options_.time_box_ns), 1.0);
    return static_cast<double>(clock_.now_ns() - start_ns_) / box;
  }
  void report(std::string_view phase) const {
    if (options_.progress) options_.progress(phase, std::min(done(), 1.0));
  }
  std::vector<int> choice() const {
    std::vector<int> tactics;
    for (const GroupOutcome& group : outcome_.groups) tactics.push_back(group.tactic);
    return tactics;
  }
  bool chosen() const {
    return std::ranges::any_of(outcome_.groups,
                               [](const auto& group) { return group.tactic != 0; });
  }
  Result<Model> make_usual() const { return make_trial_(std::vector<int>(num_tactics_.size(), 0)); }

  /// The quantile of the turn's times, by group.
  static Result<Times> turn(TrialModel& model, const Clock& clock) {
    const std::int64_t start_ns = clock.now_ns();
    // The first run warms the caches up after another model's turn. It counts only if runs are so
    // long that a second one would use up the time box.
    std::vector<Times> runs = {SLUICE_TRY(model.time_groups())};
    const double run_ns = std::max(static_cast<double>(clock.now_ns() - start_ns), 1.0);
    if (run_ns >= kLongRunNs) return std::move(runs.front());
    const int count = std::clamp(static_cast<int>(kTurnNs / run_ns), 1, kMaxRuns);
    runs.clear();
    for (int i = 0; i < count; ++i) runs.push_back(SLUICE_TRY(model.time_groups()));
    Times told(runs.front().size());
    for (std::size_t g = 0; g < told.size(); ++g) {
      std::vector<double> times;
      for (const Times& run : runs) times.push_back(run[g]);
      told[g] = typical(times);
    }
    return told;
  }

  /// In model m group g uses tactic m, modulo its number of tactics.
  int tactic_in(std::size_t model, std::size_t group) const {
    return static_cast<int>(model) % num_tactics_[group];
  }

  Status make_models(std::vector<Model>& models) const {
    const int most = num_tactics_.empty() ? 1 : *std::ranges::max_element(num_tactics_);
    for (std::size_t m = 0; most > 1 && m < static_cast<std::size_t>(most); ++m) {
      if (m > 1 && done() >= kCompared / 2) break;  // leave time to run those at hand
      report("prepare");
      std::vector<int> tactics;
      for (std::size_t g = 0; g < num_tactics_.size(); ++g) tactics.push_back(tactic_in(m, g));
      models.push_back(SLUICE_TRY(make_trial_(tactics)));
    }
    return ok_status();
  }

  Status compare() {
    std::vector<Model> models;
    SLUICE_TRY(make_models(models));
    std::vector<std::vector<Pairs>> pairs(num_tactics_.size());
    for (std::size_t g = 0; g < pairs.size(); ++g) {
      pairs[g].resize(static_cast<std::size_t>(num_tactics_[g]));
    }
    // Models take turns, so that a disturbance or a change of clock speed hits all of them alike.
    // Ratios are formed within a round.
    while (models.size() > 1 && done() < kCompared) {
      std::vector<Times> round;
      for (const Model& model : models) {
        if (done() >= kCompared) break;
        report("compare");
        round.push_back(SLUICE_TRY(turn(*model, clock_)));
      }
      add_round(round, pairs);
      if (round.size() == models.size()) ++outcome_.rounds;
    }
    choose(pairs);
    return ok_status();
  }

  /// If several models use one tactic of a group, the first counts.
  void add_round(const std::vector<Times>& round, std::vector<std::vector<Pairs>>& pairs) const {
    if (round.empty()) return;
    for (std::size_t g = 0; g < pairs.size(); ++g) {
      for (std::size_t tactic = 1; tactic < std::min(pairs[g].size(), round.size()); ++tactic) {
        pairs[g][tactic].add(round[0][g], round[tactic][g]);
      }
    }
  }

  void choose(const std::vector<std::vector<Pairs>>& pairs) {
    double run_ns = 0;
    for (const auto& tactics : pairs) run_ns += tactics.size() > 1 ? typical(tactics[1].before) : 0;
    for (std::size_t g = 0; g < pairs.size(); ++g) {
      GroupOutcome& group = outcome_.groups[g];
      group.tactics.resize(pairs[g].size());
      double least = 1;
      for (std::size_t tactic = 1; tactic < pairs[g].size(); ++tactic) {
        const Pairs& seen = pairs[g][tactic];
        if (seen.ratios.empty()) continue;
        group.tactics[tactic] = {static_cast<int>(seen.ratios.size()), typical(seen.after),
                                 seen.ratio()};
        if (tactic == 1) group.tactics[0] = {group.tactics[1].rounds, typical(seen.before), 1};
        if (!seen.gains(options_.least_gain, 2)) continue;
        if (typical(seen.before) < kLeastShare * run_ns || seen.ratio() >= least) continue;
        least = seen.ratio();
        group.tactic = static_cast<int>(tactic);
      }
    }
  }

  Status confirm() {
    report("confirm");
    // New models, at other addresses: a gain that came from lucky placement of memory disappears
    // here.
    const Model after = SLUICE_TRY(make_trial_(choice()));
    const Model before = SLUICE_TRY(make_usual());
    std::vector<Pairs> pairs(num_tactics_.size());
    while (done() < kConfirmed) {
      report("confirm");
      const Times old_times = SLUICE_TRY(turn(*before, clock_));
      if (done() >= 1) break;
      const Times new_times = SLUICE_TRY(turn(*after, clock_));
      for (std::size_t g = 0; g < pairs.size(); ++g) pairs[g].add(old_times[g], new_times[g]);
    }
    for (std::size_t g = 0; g < pairs.size(); ++g) {
      GroupOutcome& group = outcome_.groups[g];
      if (group.tactic == 0) continue;
      const bool is_confirmed = pairs[g].gains(options_.least_gain / 2, 1);
      group.tactic = group.confirmed = is_confirmed ? group.tactic : 0;
      group.before_ns = typical(pairs[g].before);
      group.after_ns = typical(pairs[g].after);
    }
    return ok_status();
  }

  Status compare_whole() {
    report("whole model");
    const Model after = SLUICE_TRY(make_trial_(choice()));
    const Model before = SLUICE_TRY(make_usual());
    Pairs pairs;
    while (done() < 1) {
      report("whole model");
      const double old_ns = SLUICE_TRY(turn_whole(*before));
      pairs.add(old_ns, SLUICE_TRY(turn_whole(*after)));
    }
    outcome_.before_ns = typical(pairs.before);
    outcome_.after_ns = typical(pairs.after);
    if (pairs.gains(kLeastWholeGain, 2)) return ok_status();
    for (GroupOutcome& group : outcome_.groups) group.tactic = 0;
    return ok_status();
  }

  static Result<double> turn_whole(TrialModel& model) {
    std::vector<double> runs = {SLUICE_TRY(model.time_run())};
    if (runs.front() >= kLongRunNs) return runs.front();
    const int count = std::clamp(static_cast<int>(kTurnNs / runs.front()), 1, kMaxRuns);
    runs.clear();
    for (int i = 0; i < count; ++i) runs.push_back(SLUICE_TRY(model.time_run()));
    return typical(runs);
  }

  std::span<const int> num_tactics_;
  const MakeTrial& make_trial_;
  const Clock& clock_;
  const SearchOptions& options_;
  std::int64_t start_ns_;
  SearchOutcome outcome_;
};

}  // namespace

Result<SearchOutcome> search_tactics(std::span<const int> num_tactics, const MakeTrial& make_trial,
                                     const Clock& clock, const SearchOptions& options) {
  return Search(num_tactics, make_trial, clock, options).run();
}

}  // namespace sluice::compile
