#include "compile/tune/tactic_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <utility>

#include "support/manual_clock.h"

namespace sluice::compile {
namespace {

using ::testing::ElementsAre;

constexpr double kMillisecond = 1e6;

/// A machine on which group g takes `ns[g][tactic]`, changed by what `noise` says of the n-th run
/// of all; a run takes the sum and moves the clock.
class FakeMachine {
 public:
  using Times = std::vector<std::vector<double>>;
  /// Factor of group `g` in run `n` with `tactic`, in the m-th model created.
  using Noise = std::function<double(int n, int model, std::size_t g, int tactic)>;

  explicit FakeMachine(Times ns, Noise noise = nullptr)
      : ns_(std::move(ns)), noise_(std::move(noise)) {}

  Result<SearchOutcome> search(double seconds) {
    std::vector<int> num_tactics;
    for (const auto& tactics : ns_) num_tactics.push_back(static_cast<int>(tactics.size()));
    SearchOptions options;
    options.time_box_ns = static_cast<std::int64_t>(seconds * 1e9);
    options.progress = [this](std::string_view, double done) { progress.push_back(done); };
    const MakeTrial make =
        [this](std::span<const int> choice) -> Result<std::unique_ptr<TrialModel>> {
      clock.advance(make_ns);
      ++models;
      max_alive = std::max(max_alive, ++alive);
      return std::unique_ptr<TrialModel>(
          std::make_unique<Trial>(*this, models, std::vector<int>(choice.begin(), choice.end())));
    };
    return search_tactics(num_tactics, make, clock, options);
  }

  ManualClock clock;
  std::int64_t make_ns = 0;
  double whole_factor = 1;  ///< factor for runs in which a group uses another tactic than 0
  int models = 0;
  int alive = 0;
  int max_alive = 0;
  int runs = 0;
  std::vector<double> progress;

 private:
  class Trial final : public TrialModel {
   public:
    Trial(FakeMachine& machine, int number, std::vector<int> choice)
        : machine_(machine), number_(number), choice_(std::move(choice)) {}
    ~Trial() override { --machine_.alive; }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    Result<std::vector<double>> time_groups() override {
      std::vector<double> times;
      double sum = 0;
      for (std::size_t g = 0; g < choice_.size(); ++g) {
        double ns = machine_.ns_[g][static_cast<std::size_t>(choice_[g])];
        if (machine_.noise_) ns *= machine_.noise_(machine_.runs, number_, g, choice_[g]);
        times.push_back(ns);
        sum += ns;
      }
      ++machine_.runs;
      machine_.clock.advance(static_cast<std::int64_t>(sum));
      return times;
    }

    Result<double> time_run() override {
      const std::vector<double> times = SLUICE_TRY(time_groups());
      double sum = 0;
      for (const double ns : times) sum += ns;
      const bool is_usual = std::ranges::all_of(choice_, [](int tactic) { return tactic == 0; });
      return sum * (is_usual ? 1 : machine_.whole_factor);
    }

   private:
    FakeMachine& machine_;
    int number_;
    std::vector<int> choice_;
  };

  Times ns_;
  Noise noise_;
};

std::vector<int> tactics_of(const SearchOutcome& outcome) {
  std::vector<int> tactics;
  for (const GroupOutcome& group : outcome.groups) tactics.push_back(group.tactic);
  return tactics;
}

TEST(SearchTactics, TakesTheFastestTacticOfEachGroup) {
  FakeMachine machine({{4 * kMillisecond, 3 * kMillisecond, 2 * kMillisecond},
                       {5 * kMillisecond, 6 * kMillisecond},
                       {kMillisecond},
                       {2 * kMillisecond, kMillisecond, 3 * kMillisecond, 3 * kMillisecond}});
  const auto outcome = machine.search(2);
  ASSERT_TRUE(outcome.is_ok()) << outcome.status().to_string();
  EXPECT_THAT(tactics_of(*outcome), ElementsAre(2, 0, 0, 1));
  EXPECT_DOUBLE_EQ(outcome->groups[0].before_ns, 4 * kMillisecond);
  EXPECT_DOUBLE_EQ(outcome->groups[0].after_ns, 2 * kMillisecond);
  EXPECT_DOUBLE_EQ(outcome->before_ns, 12 * kMillisecond);
  EXPECT_DOUBLE_EQ(outcome->after_ns, 9 * kMillisecond);
  ASSERT_EQ(outcome->groups[0].tactics.size(), 3U);
  EXPECT_DOUBLE_EQ(outcome->groups[0].tactics[1].ratio, 0.75);
  EXPECT_GE(outcome->rounds, 3);
  EXPECT_EQ(machine.alive, 0);
  EXPECT_LE(machine.max_alive, 4) << "a model per tactic, and two at a time afterwards";
}

TEST(SearchTactics, KeepsTheTimeBoxExceptForTheCurrentRun) {
  for (const double run_ms : {0.05, 3.0, 70.0, 400.0}) {
    FakeMachine machine({{run_ms * kMillisecond, 0.5 * run_ms * kMillisecond, run_ms * 2e6}});
    machine.make_ns = 10'000'000;
    ASSERT_TRUE(machine.search(3).is_ok());
    const double spent = static_cast<double>(machine.clock.now_ns()) / 1e9;
    // A turn: a run to warm up and 40 ms of runs, or one long run; and two models made.
    EXPECT_LE(spent, 3 + 0.1 + 4 * run_ms / 1e3) << run_ms;
    if (run_ms < 50) {
      EXPECT_GE(spent, 2.9) << run_ms;
    }
    for (const double done : machine.progress) EXPECT_LE(done, 1);
  }
}

TEST(SearchTactics, KeepsDefaultsWithoutTimeForAComparison) {
  FakeMachine machine({{400 * kMillisecond, 100 * kMillisecond}});
  const auto outcome = machine.search(1);
  ASSERT_TRUE(outcome.is_ok());
  EXPECT_THAT(tactics_of(*outcome), ElementsAre(0));
  EXPECT_EQ(outcome->before_ns, 0);
}

TEST(SearchTactics, KeepsDefaultWhenTheGainIsBelowNoise) {
  FakeMachine machine({{kMillisecond, 0.98 * kMillisecond}});
  EXPECT_THAT(tactics_of(*machine.search(2)), ElementsAre(0));
}

TEST(SearchTactics, KeepsDefaultWhenATacticIsFasterOccasionally) {
  // Tactic 1 takes half the time in a third of its runs, else a little more.
  FakeMachine machine(
      {{30 * kMillisecond, 31 * kMillisecond}},
      [](int n, int, std::size_t, int tactic) { return tactic == 1 && n % 3 == 0 ? 0.5 : 1.0; });
  EXPECT_THAT(tactics_of(*machine.search(10)), ElementsAre(0));
}

TEST(SearchTactics, FindsTheBestTacticUnderCpuContention) {
  // Noise makes every run up to twice as long, independent of the tactic.
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> uniform(1, 2);
  FakeMachine machine({{10 * kMillisecond, 8.5 * kMillisecond, 10 * kMillisecond}},
                      [&](int, int, std::size_t, int) { return uniform(generator); });
  EXPECT_THAT(tactics_of(*machine.search(20)), ElementsAre(1));
}

TEST(SearchTactics, DropsTacticsThatDoNotGainInTheRebuiltModel) {
  // The second model, with tactic 1, is faster by luck: its memory lies better.
  FakeMachine machine(
      {{10 * kMillisecond, 10 * kMillisecond}, {10 * kMillisecond, 8 * kMillisecond}},
      [](int, int model, std::size_t g, int) { return model == 2 && g == 0 ? 0.8 : 1.0; });
  EXPECT_THAT(tactics_of(*machine.search(5)), ElementsAre(0, 1));
}

TEST(SearchTactics, KeepsDefaultsIfTheWholeModelDoesNotGain) {
  FakeMachine machine({{10 * kMillisecond, 8 * kMillisecond}});
  machine.whole_factor = 1.3;
  const auto outcome = machine.search(5);
  ASSERT_TRUE(outcome.is_ok());
  EXPECT_THAT(tactics_of(*outcome), ElementsAre(0));
  EXPECT_GT(outcome->after_ns, outcome->before_ns) << "and says what it saw";
}

TEST(SearchTactics, SkipsGroupsThatTakeNoTime) {
  FakeMachine machine({{100 * kMillisecond, 100 * kMillisecond}, {1000, 10}});
  EXPECT_THAT(tactics_of(*machine.search(30)), ElementsAre(0, 0));
}

TEST(SearchTactics, MeasuresNothingWithoutAChoice) {
  FakeMachine machine({{kMillisecond}, {kMillisecond}});
  EXPECT_THAT(tactics_of(*machine.search(5)), ElementsAre(0, 0));
  EXPECT_EQ(machine.runs, 0);
  FakeMachine empty({});
  EXPECT_TRUE(empty.search(5).is_ok());
}

TEST(SearchTactics, ReportsWhyATrialModelCannotBeBuilt) {
  const std::vector<int> num_tactics = {2};
  const auto outcome =
      search_tactics(num_tactics,
                     [](std::span<const int>) -> Result<std::unique_ptr<TrialModel>> {
                       return invalid_argument("no such kernel");
                     },
                     ManualClock(), {});
  EXPECT_EQ(outcome.status().message(), "no such kernel");
}

}  // namespace
}  // namespace sluice::compile
