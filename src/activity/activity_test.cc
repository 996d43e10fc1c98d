#include "activity/activity.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::activity {
namespace {

using nlohmann::json;

constexpr std::uint64_t kModel = 0x100000000;

Snapshot at(std::int64_t time_ns, std::int64_t num_ok, std::int64_t num_bad, std::int64_t busy_ns) {
  Snapshot snapshot;
  snapshot.time_ns = time_ns;
  terms::ModelStatistics model;
  model.model = kModel;
  model.answered = {{RuntimeCode::kOk, num_ok}, {RuntimeCode::kTimeout, num_bad}};
  snapshot.statistics.models = {model};
  terms::Usage usage;
  usage.id = 1;
  usage.num_cores = 2;
  usage.age_ns = time_ns;
  usage.core_busy_ns = busy_ns;
  snapshot.statistics.groups = {usage};
  snapshot.statistics.devices = {usage};
  return snapshot;
}

TEST(Activity, RatesAndSharesCoverTheIntervalOnly) {
  const Activity activity =
      activity_between(at(1'000'000'000, 100, 5, 300), at(3'000'000'000, 160, 7, 1'000'000'300));
  EXPECT_DOUBLE_EQ(activity.interval_s, 2);
  EXPECT_DOUBLE_EQ(activity.models.at(kModel).requests_per_s, 31);
  EXPECT_DOUBLE_EQ(activity.models.at(kModel).errors_per_s, 1);
  EXPECT_DOUBLE_EQ(activity.all.requests_per_s, 31);
  EXPECT_DOUBLE_EQ(activity.group_utilisation.at(1), 0.25);
  EXPECT_DOUBLE_EQ(activity.device_utilisation.at(1), 0.25);
}

TEST(Activity, NewModelsStartAtZeroAndUnloadedModelsDisappear) {
  const Snapshot nothing = {};
  const Activity activity = activity_between(nothing, at(2'000'000'000, 10, 0, 1'000'000'000));
  EXPECT_DOUBLE_EQ(activity.models.at(kModel).requests_per_s, 5);
  EXPECT_DOUBLE_EQ(activity.group_utilisation.at(1), 0.25);
  EXPECT_TRUE(activity_between(at(1, 10, 0, 1), nothing).models.empty());
}

TEST(Activity, CountersThatGoBackwardsGiveZeroRates) {
  const Snapshot twice = at(5, 10, 0, 7);
  EXPECT_DOUBLE_EQ(activity_between(twice, twice).models.at(kModel).requests_per_s, 0);
  EXPECT_DOUBLE_EQ(activity_between(twice, twice).group_utilisation.at(1), 0);
  const Activity backwards = activity_between(at(10, 10, 0, 90), at(20, 5, 0, 80));
  EXPECT_DOUBLE_EQ(backwards.models.at(kModel).requests_per_s, 0);
  EXPECT_DOUBLE_EQ(backwards.group_utilisation.at(1), 0);
  EXPECT_DOUBLE_EQ(activity_between(at(10, 0, 0, 0), at(20, 0, 0, 900)).group_utilisation.at(1), 1);
}

TEST(Activity, QuantilesCoverTheIntervalOnly) {
  // 100 slow requests long ago, ten fast ones and a slow one since then.
  Snapshot before = at(1, 100, 0, 0);
  before.statistics.models[0].total.buckets = {{1'048'576, 100}};
  Snapshot now = at(2, 111, 0, 0);
  now.statistics.models[0].total.buckets = {{1024, 10}, {1'048'576, 101}};
  const Activity::Rate rate = activity_between(before, now).models.at(kModel);
  EXPECT_NEAR(static_cast<double>(rate.p50_ns), 1024, 128);
  EXPECT_NEAR(static_cast<double>(rate.p99_ns), 1'048'576, 131'072);
  EXPECT_EQ(activity_between(now, now).models.at(kModel).p50_ns, 0);
  EXPECT_EQ(activity_between(now, before).models.at(kModel).p99_ns, 0)
      << "nothing is less than none";
}

TEST(Activity, ImpossibleBucketsAreTolerated) {
  Snapshot now = at(2, 1, 0, 0);
  now.statistics.models[0].total.buckets = {{INT64_MIN, 5}, {-1, INT64_MAX}, {INT64_MAX, 1}};
  EXPECT_NO_FATAL_FAILURE(activity_between({}, now));
  EXPECT_NO_FATAL_FAILURE(activity_between(now, now));
}

TEST(Activity, JsonLinesEscapeNames) {
  Snapshot now = at(2'000'000'000, 10, 2, 1'000'000'000);
  terms::ModelEntry model;
  model.info.handle = kModel;
  model.info.name = "a\nb\"\xff";
  now.models = {model};
  const std::string line = activity_line(now, activity_between({}, now), 1700000000.5);
  EXPECT_EQ(line.find('\n'), line.npos);
  const json parsed = json::parse(line);
  EXPECT_EQ(parsed["time_s"], 1700000000.5);
  EXPECT_EQ(parsed["models"][0]["num_requests"], 12);
  EXPECT_EQ(parsed["models"][0]["num_errors"], 2);
  EXPECT_EQ(parsed["models"][0]["requests_per_s"], 6);
}

TEST(Activity, QuantilesOfAllModelsCountEachRequestOnce) {
  Snapshot now = at(2, 0, 0, 0);
  terms::ModelStatistics& fast = now.statistics.models[0];
  fast.total.buckets = {{1024, 90}};
  terms::ModelStatistics slow = fast;
  slow.model = kModel + 1;
  slow.total.buckets = {{1'048'576, 10}};
  now.statistics.models.push_back(slow);
  const Activity activity = activity_between({}, now);
  EXPECT_NEAR(static_cast<double>(activity.all.p50_ns), 1024, 128);
  EXPECT_NEAR(static_cast<double>(activity.all.p99_ns), 1'048'576, 131'072);
}

TEST(Activity, JsonTellsHealthErrorsAndRemedies) {
  Snapshot now = at(2'000'000'000, 10, 2, 0);
  terms::ModelEntry model;
  model.info.handle = kModel;
  model.function = terms::FunctionState{};
  now.models = {model};
  now.health.models = {{kModel, "net", {terms::HealthState::kFailed, "lost", "reset it"}}};
  const json one = json::parse(activity_line(now, activity_between({}, now), 0))["models"][0];
  EXPECT_EQ(one["health"], "failed");
  EXPECT_EQ(one["health_action"], "reset it");
  ASSERT_EQ(one["errors"].size(), 1U);
  EXPECT_EQ(one["errors"][0]["code"], "timeout");
  EXPECT_EQ(one["errors"][0]["count"], 2);
  EXPECT_NE(one["errors"][0]["remedy"], "");
  EXPECT_EQ(one["function"]["phase"], "cold");
}

}  // namespace
}  // namespace sluice::activity
