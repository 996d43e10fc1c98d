#include "fleet/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fleet/testing/models.h"

namespace sluice::fleet {
namespace {

using testing::calibrated;
using ::testing::HasSubstr;
using testing::kMs;
using testing::simulated;

Trace poisson(double per_second, double seconds, std::int64_t deadline_ns = 0, int num_models = 1) {
  return *generate_trace({.per_second = per_second,
                          .seconds = seconds,
                          .num_models = num_models,
                          .deadline_ns = deadline_ns},
                         "m");
}

Outcome outcome_of(const CalibratedModel& facts, const Trace& trace, const Fleet& fleet) {
  const SimulatedModel model = simulated(facts);
  const std::vector<const SimulatedModel*> models(trace.models.size(), &model);
  auto outcome = simulate(models, trace, fleet);
  EXPECT_TRUE(outcome.is_ok()) << outcome.status().to_string();
  return *std::move(outcome);
}

/// Every request has one end.
void expect_all_ended(const Outcome& outcome, const Trace& trace) {
  EXPECT_EQ(std::ssize(outcome.window.latencies_ns) + outcome.window.num_failed,
            std::ssize(trace.arrivals));
  EXPECT_LE(outcome.num_lost, outcome.window.num_failed);
}

/// Pollaczek's and Khinchine's formula for runs that all take the same time: requests wait half as
/// long as the runs of those that are ahead if arrivals are random.
TEST(Simulation, OneMachineWaitsAsQueueingTheoryHasIt) {
  CalibratedModel facts = calibrated("m", 10 * kMs);
  facts.queue_limit = 65'536;
  const Trace trace = poisson(80, 2000);
  const Outcome outcome = outcome_of(facts, trace, {});
  expect_all_ended(outcome, trace);
  EXPECT_EQ(outcome.window.num_failed, 0);
  const double load = 0.8;
  const double mean_ms = 10 + 10 * load / (2 * (1 - load));
  EXPECT_NEAR(outcome.window.mean_ns() / kMs, mean_ms, mean_ms * 0.05);
  EXPECT_NEAR(outcome.utilisation, load, 0.02);
}

TEST(Simulation, SameSeedGivesTheSameOutcome) {
  const Trace trace = poisson(150, 20);
  const Fleet fleet = {.num_machines = 2, .failure_ns = 3000 * kMs, .restart_ns = 100 * kMs};
  const CalibratedModel facts = calibrated("m", 10 * kMs);
  const Outcome outcome = outcome_of(facts, trace, fleet);
  EXPECT_EQ(outcome.window.latencies_ns, outcome_of(facts, trace, fleet).window.latencies_ns);
  Fleet other = fleet;
  other.seed = 2;
  EXPECT_NE(outcome.window.latencies_ns, outcome_of(facts, trace, other).window.latencies_ns);
}

TEST(Simulation, MoreMachinesAndMoreGroupsAnswerMore) {
  const Trace trace = poisson(350, 30, 100 * kMs);
  const CalibratedModel facts = calibrated("m", 10 * kMs);
  const double one = outcome_of(facts, trace, {}).figures().shed;
  const double four = outcome_of(facts, trace, {.num_machines = 4}).figures().shed;
  const double groups = outcome_of(facts, trace, {.num_groups = 4, .num_copies = 4}).figures().shed;
  // One machine answers 100 of 350 a second.
  EXPECT_NEAR(one, 1 - 100.0 / 350, 0.03);
  EXPECT_LT(four, 0.05);
  EXPECT_LT(groups, 0.05);
}

TEST(Simulation, ModelsOfAMachineShareAllItsGroups) {
  const Trace trace = poisson(350, 30, 100 * kMs, 20);
  const Fleet fleet = {.num_groups = 4, .num_copies = 4};
  EXPECT_LT(outcome_of(calibrated("m", 10 * kMs), trace, fleet).figures().shed, 0.05);
}

TEST(Simulation, AnswersComeBeforeTheirDeadline) {
  const Trace trace = poisson(150, 30, 50 * kMs);
  const Outcome outcome = outcome_of(calibrated("m", 10 * kMs), trace, {});
  expect_all_ended(outcome, trace);
  EXPECT_LE(outcome.window.latency_ns(1), 50 * kMs);
  // The line forecasts late requests, so that runs are not wasted on them.
  EXPECT_NEAR(outcome.figures().shed, 1.0 / 3, 0.04);
}

TEST(Simulation, FullLineRefuses) {
  CalibratedModel facts = calibrated("m", 10 * kMs);
  facts.depth = 1;
  facts.queue_limit = 0;
  const Trace trace = poisson(100, 100);
  const Outcome outcome = outcome_of(facts, trace, {});
  expect_all_ended(outcome, trace);
  // Erlang's formula for one server: load / (1 + load).
  EXPECT_NEAR(outcome.figures().shed, 0.5, 0.02);
  EXPECT_LT(outcome.window.latency_ns(1), 11 * kMs);
}

TEST(Simulation, LinkAndOverheadAddToEachLatency) {
  CalibratedModel facts = calibrated("m", 10 * kMs);
  facts.overhead_ns = 7 * kMs;
  const Trace trace = poisson(1, 100);
  const Outcome outcome = outcome_of(facts, trace, {.link_ns = 20 * kMs});
  EXPECT_NEAR(static_cast<double>(outcome.window.latency_ns(0.1)) / kMs, 57, 0.2);
}

TEST(Simulation, WaitingRequestsRunTogether) {
  CalibratedModel facts = calibrated("m", 10 * kMs);
  facts.batch_rows = 8;
  facts.request_ns = kMs / 2;
  const Trace trace = poisson(400, 30);
  const Outcome outcome = outcome_of(facts, trace, {});
  expect_all_ended(outcome, trace);
  // Alone they would take four times the time; eight rows take 13.5 ms.
  EXPECT_EQ(outcome.window.num_failed, 0);
  EXPECT_LT(outcome.window.latency_ns(0.99), 60 * kMs);
  CalibratedModel slow = facts;
  slow.max_delay_ns = 40 * kMs;
  const Outcome rare = outcome_of(slow, poisson(1, 100), {});
  EXPECT_NEAR(static_cast<double>(rare.window.latency_ns(0.5)) / kMs, 50, 0.5)
      << "a request waits for others";
}

TEST(Simulation, RowsTakeTheTimesThatWereMeasured) {
  CalibratedModel facts = calibrated("m", 10 * kMs);
  facts.gap_ns = 0;
  facts.batch_rows = 8;
  facts.max_delay_ns = 2 * kMs;
  facts.row_times = {{1, facts.compute_ns / 10}, {2, facts.compute_ns}};
  const Outcome rare = outcome_of(facts, poisson(1, 100), {});
  EXPECT_NEAR(static_cast<double>(rare.window.latency_ns(0.5)) / kMs, 2.11, 0.02)
      << "one row takes a tenth";
  facts.request_ns = 4 * kMs;
  Trace pairs;
  pairs.models = {"m"};
  for (std::int64_t i = 0; i < 100; ++i) {
    pairs.arrivals.insert(pairs.arrivals.end(), 2, Arrival{.time_ns = i * 100 * kMs});
  }
  const Outcome joined = outcome_of(facts, pairs, {});
  EXPECT_NEAR(static_cast<double>(joined.window.latency_ns(0.5)) / kMs, 7.1, 0.1)
      << "two requests take the time of two rows, and the second adds its own";
}

/// A run goes on for those that are still in time.
TEST(Simulation, JoinedRunIsStoppedWhenAllItsRequestsAreLate) {
  CalibratedModel facts = calibrated("m", 50 * kMs);
  facts.batch_rows = 8;
  facts.max_delay_ns = kMs;
  Trace trace;
  trace.models = {"m"};
  trace.arrivals = {{0, 0, 1, 10 * kMs}, {0, 0, 1, 20 * kMs}};
  const Outcome late = outcome_of(facts, trace, {});
  EXPECT_EQ(late.window.num_failed, 2);
  EXPECT_LT(late.window.duration_ns, 30 * kMs);
  trace.arrivals[1].deadline_ns = 100 * kMs;
  const Outcome one = outcome_of(facts, trace, {});
  EXPECT_EQ(one.window.num_failed, 1);
  EXPECT_NEAR(static_cast<double>(one.window.latency_ns(1)) / kMs, 51, 0.2);
}

TEST(Simulation, RequestsOfALostMachineGoToAnother) {
  const Trace trace = poisson(100, 100);
  const Fleet fleet = {.num_machines = 4, .failure_ns = 2000 * kMs, .restart_ns = 500 * kMs};
  const Outcome outcome = outcome_of(calibrated("m", 10 * kMs), trace, fleet);
  expect_all_ended(outcome, trace);
  EXPECT_GT(outcome.num_failures, 100);
  EXPECT_LT(outcome.figures().shed, 0.03);
  const Outcome single = outcome_of(calibrated("m", 2 * kMs), trace,
                                    {.failure_ns = 2000 * kMs, .restart_ns = 2000 * kMs});
  expect_all_ended(single, trace);
  EXPECT_NEAR(single.figures().shed, 0.5, 0.15) << "nothing is up half of the time";
  EXPECT_GT(single.num_lost, 0);
}

TEST(Simulation, ModelsThatDoNotFitAreLoadedForEachOther) {
  CalibratedModel facts = calibrated("m", 10 * kMs);
  facts.memory_bytes = 100;
  facts.load_ns = 200 * kMs;
  const Trace trace = poisson(2, 200, 0, 2);
  const Fleet tight = {.num_machines = 2, .memory_bytes = 150, .route = Route::kTurns};
  const Outcome thrashing = outcome_of(facts, trace, tight);
  expect_all_ended(thrashing, trace);
  EXPECT_GT(thrashing.num_loads, 50);
  EXPECT_GT(thrashing.window.latency_ns(0.9), 200 * kMs);
  Fleet roomy = tight;
  roomy.memory_bytes = 200;
  EXPECT_EQ(outcome_of(facts, trace, roomy).num_loads, 0);
  Fleet by_model = tight;
  by_model.num_machines = 20;
  by_model.route = Route::kModel;
  EXPECT_LE(outcome_of(facts, trace, by_model).num_loads, 1) << "each model has its machine";
}

TEST(Simulation, NumbersOutOfRangeAreRefused) {
  const SimulatedModel model = simulated(calibrated("m", 10 * kMs));
  const Trace trace = poisson(10, 1);
  const auto refusal = [&](const Fleet& fleet) {
    return simulate({&model}, trace, fleet).status().to_string();
  };
  EXPECT_THAT(refusal({.num_machines = 0}), HasSubstr("0 machines"));
  EXPECT_THAT(refusal({.num_machines = kMaxMachines + 1}), HasSubstr("machines"));
  EXPECT_THAT(refusal({.num_copies = 2}), HasSubstr("no more copies than groups"));
  EXPECT_THAT(refusal({.link_ns = -1}), HasSubstr("not below 0"));
  EXPECT_THAT(simulate({}, trace, {}).status().to_string(), HasSubstr("known"));
  CalibratedModel large = calibrated("large", 10 * kMs);
  large.memory_bytes = 200;
  const SimulatedModel too_large = simulated(large);
  EXPECT_THAT(simulate({&too_large}, trace, {.memory_bytes = 100}).status().to_string(),
              HasSubstr("\"large\" needs 200 bytes"));
}

}  // namespace
}  // namespace sluice::fleet
