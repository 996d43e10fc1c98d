#include "sluice/remote/watch/trace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <sstream>

namespace sluice::tool {
namespace {

using nlohmann::json;
using terms::Profile;
using terms::SpanKind;
using terms::StageKind;

constexpr std::int64_t kStartNs = 5'000'000;

/// A model of two lanes; request 9 waits 1 us, copies for 2 us and computes for 4 us; one operation
/// takes 3 us.
Profile profile() {
  const terms::DeviceId device(0);
  Profile all;
  all.models = {
      {"net", 3, {{StageKind::kCopyIn, {}}, {StageKind::kCompute, {{device, 1}, {device, 2}}}}}};
  all.names = {"Conv+Relu"};
  all.spans = {{SpanKind::kQueue, 0, 0, 0, 9, kStartNs, 1000},
               {SpanKind::kCopyIn, 0, 0, 0, 9, kStartNs + 1000, 2000},
               {SpanKind::kOperation, 0, 1, 0, 9, kStartNs + 3500, 3000},
               {SpanKind::kCompute, 0, 1, 0, 9, kStartNs + 3000, 4000},
               {SpanKind::kRequest, 0, 0, 0, 9, kStartNs, 7000}};
  all.num_dropped = 2;
  return all;
}

json trace_of(const Profile& profile) {
  std::ostringstream text;
  write_trace(profile, text);
  return json::parse(text.str());
}

std::vector<json> events(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

TEST(Trace, SlicesLieOnTheLanesOfTheirGroup) {
  const json trace = trace_of(profile());
  EXPECT_EQ(trace["otherData"]["dropped_spans"], 2);
  const auto slices = events(trace, "X");
  ASSERT_EQ(slices.size(), 3U);
  EXPECT_EQ(slices[0]["name"], "copy in");
  EXPECT_EQ(slices[0]["ts"], 1.0);
  EXPECT_EQ(slices[0]["dur"], 2.0);
  EXPECT_EQ(slices[1]["name"], "compute") << "outer slices come first";
  EXPECT_EQ(slices[2]["name"], "Conv+Relu");
  EXPECT_EQ(slices[1]["tid"], slices[2]["tid"]);
  EXPECT_NE(slices[0]["tid"], slices[1]["tid"]);
  for (const json& slice : slices) {
    EXPECT_EQ(slice["pid"], 3);
    EXPECT_EQ(slice["args"]["request"], 9);
  }
  std::set<std::string> names;
  for (const json& event : events(trace, "M")) names.insert(event["args"]["name"]);
  EXPECT_EQ(names, (std::set<std::string>{"group 3 (device 0: 1-2)", "requests", "net: copy in",
                                          "net: compute on device 0: 1-2"}));
}

TEST(Trace, RequestsBeginAndEndWithTheirQueueWithin) {
  const json trace = trace_of(profile());
  const auto begins = events(trace, "b");
  const auto ends = events(trace, "e");
  ASSERT_EQ(begins.size(), 2U);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(begins[0]["name"], "request 9");
  EXPECT_EQ(begins[0]["args"]["answer"], "ok");
  EXPECT_EQ(begins[1]["name"], "queue");
  EXPECT_EQ(begins[0]["id"], begins[1]["id"]);
  EXPECT_EQ(ends[0]["ts"], 7.0);
  EXPECT_EQ(ends[1]["ts"], 1.0);
}

TEST(Trace, ArrowsLeadFromStageToStage) {
  const json trace = trace_of(profile());
  ASSERT_EQ(events(trace, "s").size(), 1U);
  ASSERT_EQ(events(trace, "t").size(), 1U);
  EXPECT_EQ(events(trace, "s")[0]["ts"], 1.0);
  EXPECT_EQ(events(trace, "t")[0]["ts"], 3.0);
}

TEST(Trace, HostileNamesAreEscaped) {
  Profile hostile = profile();
  hostile.models[0].name = "a\"},{\"ph\":\"X\x01\n\\";
  hostile.names[0] = "\xff\xfe</script>\"";
  const json trace = trace_of(hostile);  // parses
  EXPECT_EQ(events(trace, "X").size(), 3U);
  EXPECT_EQ(events(trace, "b")[0]["args"]["model"], hostile.models[0].name);
  EXPECT_EQ(events(trace, "X")[2]["name"], "\uFFFD\uFFFD</script>\"");
}

TEST(Trace, EmptyProfileGivesAnEmptyTrace) { EXPECT_TRUE(trace_of({})["traceEvents"].empty()); }

}  // namespace
}  // namespace sluice::tool
