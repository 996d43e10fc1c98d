#include "fleet/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/file.h"
#include "telemetry/traffic_file.h"

namespace sluice::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Trace, LinesAreSortedByTheirTime) {
  const auto trace = parse_trace(
      "\xEF\xBB\xBF"
      "arrival_s,model,rows,deadline_s\n1.5,b,2,0.1\r\n0,a,1,0\n\n1,b,3,1e-3");
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  EXPECT_THAT(trace->models, ElementsAre("b", "a"));
  ASSERT_EQ(trace->arrivals.size(), 3U);
  EXPECT_EQ(trace->arrivals[0].model, 1U);
  EXPECT_EQ(trace->arrivals[1].deadline_ns, 1'000'000);
  EXPECT_EQ(trace->arrivals[2].time_ns, 1'500'000'000);
  EXPECT_EQ(trace->arrivals[2].rows, 2);
  EXPECT_EQ(trace->seconds(), 1.5);
}

TEST(Trace, DamagedLinesAreNamed) {
  const auto refusal = [](const std::string& text) {
    return parse_trace(text).status().to_string();
  };
  EXPECT_THAT(refusal(""), HasSubstr("line 1: expected \"arrival_s,model\""));
  EXPECT_THAT(refusal("arrival_s,model\n"), HasSubstr("no requests"));
  EXPECT_THAT(refusal("arrival_s,model\n0,a\n1"), HasSubstr("line 3: expected 2 columns"));
  EXPECT_THAT(refusal("arrival_s,model\n0,a,1"), HasSubstr("line 2: expected 2 columns"));
  EXPECT_THAT(refusal("arrival_s,model\n-1,a"), HasSubstr("line 2: arrival_s"));
  EXPECT_THAT(refusal("arrival_s,model\nnan,a"), HasSubstr("line 2: arrival_s"));
  EXPECT_THAT(refusal("arrival_s,model\n1e300,a"), HasSubstr("line 2: arrival_s"));
  EXPECT_THAT(refusal("arrival_s,model\n0," + std::string(300, 'm')), HasSubstr("line 2: model"));
  EXPECT_THAT(refusal("arrival_s,model,rows\n0,a,0"), HasSubstr("line 2: rows"));
  EXPECT_THAT(refusal("arrival_s,model,rows\n0,a,99999999999"), HasSubstr("line 2: rows"));
  EXPECT_THAT(refusal("arrival_s,model,rows,deadline_s\n0,a,1,x"), HasSubstr("line 2: deadline_s"));
}

TEST(Trace, RecordingOfADaemonIsOne) {
  std::string file(telemetry::kTrafficMagic);
  file += telemetry::to_bytes({5 * kSecond, 0, "a", {{"x", 1, {3, 4}, ""}}});
  file += telemetry::to_bytes({4 * kSecond, 0, "b", {}});
  const std::string path = ::testing::TempDir() + "fleet_trace_test.traffic";
  ASSERT_TRUE(write_file_atomically(path, std::as_bytes(std::span(file))).is_ok());
  const auto trace = read_trace(path);
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  ASSERT_EQ(trace->arrivals.size(), 2U);
  EXPECT_EQ(trace->arrivals[0].time_ns, 0);
  EXPECT_EQ(trace->arrivals[0].rows, 1);
  EXPECT_EQ(trace->arrivals[1].time_ns, kSecond);
  EXPECT_EQ(trace->arrivals[1].rows, 3);
  EXPECT_EQ(trace->origin, path);
}

std::vector<std::int64_t> counts_of(const Trace& trace, std::int64_t slot_ns) {
  std::vector<std::int64_t> counts;
  for (const Arrival& arrival : trace.arrivals) {
    const auto slot = static_cast<std::size_t>(arrival.time_ns / slot_ns);
    counts.resize(std::max(counts.size(), slot + 1));
    ++counts[slot];
  }
  return counts;
}

TEST(GeneratedTrace, HasItsRateAndIsTheSameForItsSeed) {
  const GeneratedLoad load = {.per_second = 1000, .seconds = 20, .num_models = 3, .seed = 5};
  const auto trace = generate_trace(load, "m");
  ASSERT_TRUE(trace.is_ok());
  EXPECT_NEAR(static_cast<double>(trace->arrivals.size()), 20'000, 600);
  EXPECT_THAT(trace->models, ElementsAre("m/0", "m/1", "m/2"));
  EXPECT_THAT(trace->origin, HasSubstr("seed 5"));
  const auto again = generate_trace(load, "m");
  ASSERT_EQ(again->arrivals.size(), trace->arrivals.size());
  EXPECT_EQ(again->arrivals.back().time_ns, trace->arrivals.back().time_ns);
  std::array<int, 3> by_model = {};
  for (const Arrival& arrival : trace->arrivals) ++by_model.at(arrival.model);
  // Shares of 1, 1/2 and 1/3.
  EXPECT_NEAR(by_model[0], 20'000 * 6 / 11, 500);
  EXPECT_NEAR(by_model[2], 20'000 * 2 / 11, 400);
}

TEST(GeneratedTrace, DayHasANightAPeakAndBursts) {
  const GeneratedLoad load = {.per_second = 1000, .seconds = 100, .day_seconds = 100};
  const auto trace = generate_trace(load, "m");
  ASSERT_TRUE(trace.is_ok());
  EXPECT_NEAR(static_cast<double>(trace->arrivals.size()), 100'000, 8000);
  const auto tenths = counts_of(*trace, 10 * kSecond);
  EXPECT_GT(tenths[4] + tenths[5], 2 * (tenths[0] + tenths[9]));
  // In a slot of a burst the rate is twice that of its neighbours.
  const auto slots = counts_of(*trace, kSecond / 10);
  const std::int64_t most = *std::ranges::max_element(slots);
  EXPECT_GT(most, 200) << "a peak without a burst is at 150 to 190";
}

TEST(GeneratedTrace, SizeIsBounded) {
  EXPECT_THAT(generate_trace({.per_second = 1e9}, "m").status().to_string(),
              HasSubstr("take fewer seconds"));
  EXPECT_FALSE(generate_trace({.per_second = -1}, "m").is_ok());
  EXPECT_FALSE(generate_trace({.per_second = 1, .num_models = 1 << 30}, "m").is_ok());
}

}  // namespace
}  // namespace sluice::fleet
