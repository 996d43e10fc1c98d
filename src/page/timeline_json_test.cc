#include "page/timeline_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::page {
namespace {

using nlohmann::json;
using terms::ProfileSpan;
using terms::SpanKind;

/// A request of a model with two segments: it waits, is copied, is computed.
terms::Profile example() {
  using terms::StageKind;
  terms::Profile profile;
  profile.models = {{"net",
                     7,
                     {{StageKind::kCopyIn, {}},
                      {StageKind::kCompute, {{terms::DeviceId(0), 2}}},
                      {StageKind::kCompute, {}},
                      {StageKind::kCopyOut, {}}}}};
  profile.names = {"Conv a", "Relu"};
  profile.duration_ns = 2'000;
  const auto add = [&](SpanKind kind, std::uint32_t lane, std::int64_t start_ns,
                       std::int64_t duration_ns, std::uint32_t name = 0) {
    profile.spans.push_back({kind, 0, lane, name, 5, start_ns, duration_ns});
  };
  add(SpanKind::kQueue, 0, 100, 50);
  add(SpanKind::kCopyIn, 0, 150, 10);
  add(SpanKind::kOperation, 1, 160, 30);
  add(SpanKind::kOperation, 1, 190, 60, 1);
  add(SpanKind::kCompute, 1, 160, 100);
  add(SpanKind::kCompute, 2, 260, 20);
  add(SpanKind::kCopyOut, 3, 280, 5);
  add(SpanKind::kRequest, 0, 100, 190);
  return profile;
}

TEST(TimelineJson, TracksAreTheQueueAndTheLanes) {
  const json timeline = json::parse(profile_json(example()))["timeline"];
  std::vector<std::string> what;
  for (const json& track : timeline["tracks"]) what.push_back(track["what"]);
  EXPECT_EQ(what,
            (std::vector<std::string>{"queue", "copy in", "segment 1", "segment 2", "copy out"}));
  EXPECT_EQ(timeline["tracks"][2]["group"], 7);
  EXPECT_EQ(timeline["tracks"][2]["cores"], json::parse(R"([{"device": 0, "core": 2}])"));
  EXPECT_EQ(timeline["tracks"][2]["sum_ns"], 100) << "operations lie within";
}

TEST(TimelineJson, SpansBeginWithTheFirstStage) {
  const json all = json::parse(profile_json(example()));
  const json& timeline = all["timeline"];
  EXPECT_EQ(all["num_requests"], 1);
  EXPECT_EQ(timeline["num_spans"], 7);
  EXPECT_EQ(timeline["spans"][0], json::array({0, 0, 0, 0, 5, -1})) << "it waited before";
  EXPECT_EQ(timeline["spans"][1], json::array({1, 0, 0, 10, 5, -1}));
  EXPECT_EQ(timeline["spans"].back(), json::array({4, 0, 130, 5, 5, -1}));
  EXPECT_EQ(timeline["names"][1], "Relu");
}

TEST(TimelineJson, OperationsAreSummedByNameTheLongestFirst) {
  const json operations = json::parse(profile_json(example()))["operations"];
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_EQ(operations[0], json::parse(R"({"name": "Relu", "count": 1, "sum_ns": 60})"));
}

TEST(TimelineJson, OnlyTheNewestSpansAreShown) {
  terms::Profile profile = example();
  const ProfileSpan last = profile.spans[1];
  for (std::size_t i = 0; i < 2 * kMaxShownSpans; ++i) {
    profile.spans.push_back(last);
    profile.spans.back().start_ns = 1000 + static_cast<std::int64_t>(i);
  }
  const json timeline = json::parse(profile_json(profile))["timeline"];
  EXPECT_EQ(timeline["spans"].size(), kMaxShownSpans);
  EXPECT_EQ(timeline["spans"].back()[2], kMaxShownSpans - 1);
  EXPECT_EQ(timeline["num_spans"], 7 + 2 * kMaxShownSpans);
}

TEST(TimelineJson, PeriodIsTheRecordingWhereNoSpanWasDropped) {
  const json timeline = json::parse(profile_json(example()))["timeline"];
  EXPECT_EQ(timeline["num_dropped"], 0);
  EXPECT_EQ(timeline["duration_ns"], 2'000);
  EXPECT_EQ(timeline["tracks"][2]["busy_ns"], 100);
}

TEST(TimelineJson, PeriodBeginsWithTheOldestSpanWhereOthersWereDropped) {
  terms::Profile profile = example();
  profile.num_dropped = 3;
  profile.spans.erase(profile.spans.begin(), profile.spans.begin() + 2);  // the oldest ends at 190
  const json timeline = json::parse(profile_json(profile))["timeline"];
  EXPECT_EQ(timeline["num_dropped"], 3);
  EXPECT_EQ(timeline["duration_ns"], 2'000 - 190);
  EXPECT_EQ(timeline["tracks"][0]["what"], "segment 1");
  EXPECT_EQ(timeline["tracks"][0]["sum_ns"], 100);
  EXPECT_EQ(timeline["tracks"][0]["busy_ns"], 70) << "it began before";
}

TEST(TimelineJson, RecordingWithoutARequestIsEmpty) {
  const json all = json::parse(profile_json({}));
  EXPECT_EQ(all["num_requests"], 0);
  EXPECT_TRUE(all["timeline"]["spans"].empty());
}

}  // namespace
}  // namespace sluice::page
